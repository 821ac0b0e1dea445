import * as sdk from 'openai-7.53'
import { testSdk } from './sdk-suite.ts'

testSdk('7.53.0', sdk)
