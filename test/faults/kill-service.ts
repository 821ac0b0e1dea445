import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { simulated } from '../../simulators/provider.ts'
import { loadConfig } from '../../src/config.ts'
import { start } from '../../src/main.ts'
import { providers } from '../../src/providers/index.ts'

/*
 * The service with the simulated providers, as a process of its own that can be killed. Settings come from the
 * environment. The one argument is how far its clock is ahead, in milliseconds: so that nobody has to wait for delays
 * of minutes. It says where it listens in a line.
 */
// Whoever started us may be killed as well, and nobody else would end us.
process.stdin.once('end', () => process.exit(1)).resume()

const ahead = Number(process.argv[2] ?? 0)
const clock = {
  now: () => Date.now() + ahead,
  sleep: (ms: number, signal?: AbortSignal) =>
    setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {}),
}
const members = { ...providers, ...simulated }
const service = await start(loadConfig({ flags: {}, env: process.env, members }), { members, clock })
process.stdout.write(`${service.url}\n`)

await once(process, 'SIGTERM')
await service[Symbol.asyncDispose]()
process.stdin.destroy()
