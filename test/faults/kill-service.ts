import { once } from 'node:events'
import { simulated } from '../../simulators/provider.ts'
import { limitYoungHeap, returnIdleMemory } from '../../src/cli/memory.ts'
import { loadConfig } from '../../src/config.ts'
import { sleep, start } from '../../src/main.ts'
import { providers } from '../../src/providers/index.ts'

/*
 * The service with the simulated providers, in a process that can be killed. Settings come from the environment. The first
 * argument is how far its clock is ahead, in milliseconds, so that no test waits for delays of minutes. The second one is
 * how long it waits for a silent upstream. It prints its address in a line.
 */
// The parent process may be killed, too: then this one must end by itself.
process.stdin.once('end', () => process.exit(1)).resume()
// But this must not keep the process alive when the service ends.
process.stdin.unref()

// As `filmgate serve` does.
limitYoungHeap()
const ahead = Number(process.argv[2] ?? 0)
const clock = { now: () => Date.now() + ahead, sleep }
const members = { ...providers, ...simulated }
const silence = Number(process.argv[3] ?? 0)
const outbound =
  silence > 0 ? { upstreamDeadlines: { headersMs: silence, bodyIdleMs: silence, totalMs: 2 * silence } } : {}
const config = loadConfig({ flags: {}, env: process.env, members })
const service = await start(config, { members, clock, outbound })
process.stdout.write(`${service.url}\n`)
// As `filmgate serve` does.
void returnIdleMemory({ sleep }, { signal: new AbortController().signal, warn: () => {} })

await once(process, 'SIGTERM')
await service[Symbol.asyncDispose]()
process.stdin.destroy()
