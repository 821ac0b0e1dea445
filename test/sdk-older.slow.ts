import * as sdk610 from 'openai-6.10'
import * as sdk649 from 'openai-6.49'
import type * as newest from 'openai-7.53'
import { testSdk } from './sdk-suite.ts'

/* An old SDK that sends JSON, and one that always sends multipart, as the newest does. */
const sdks = { '6.10.0': sdk610, '6.49.0': sdk649 } as unknown as Record<string, typeof newest>
for (const [version, sdk] of Object.entries(sdks)) testSdk(version, sdk)
