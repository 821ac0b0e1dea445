import { openaiWire } from '../../simulators/openai.ts'
import { startUpstream } from '../../simulators/upstream.ts'

/* An engine in a process of its own, whose videos are never finished in time. It prints its address. */

// The process that started this one may be killed, and then nothing else ends it.
process.stdin.once('end', () => process.exit(1)).resume()
const { url } = await startUpstream({ wire: openaiWire('vllm-omni'), speed: 3_600_000 })
process.stdout.write(`${url}\n`)
