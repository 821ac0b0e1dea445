import { type SettingName, settings } from '../config/settings.ts'
import { type Config, loadConfig } from '../config.ts'
import { type Service, sleep, start } from '../main.ts'
import { type Command, readArguments } from './arguments.ts'
import { banner } from './banner.ts'
import { limitYoungHeap, returnIdleMemory } from './memory.ts'
import { programToPaste } from './program.ts'
import { printable } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

const names = Object.keys(settings) as SettingName[]

const help = `Usage: filmgate serve [options]

Runs the Videos API with its built-in renderer and everything it needs.

Options (each also an environment variable):
${names.map(optionHelp).join('\n')}

Examples:
  filmgate serve
  filmgate serve --port 0 --data /var/lib/filmgate --retention 7d
  filmgate serve --alias sora-2=studio --alias sora-2-pro=studio
  FILMGATE_TOKEN='my token' filmgate serve --host 0.0.0.0
`

export const command: Command = { help, run: serve }

/** How long a stop may take. It is safe to end then: everything continues at the next start, as after a crash. */
const drainMs = 28_000

/** Runs until a signal, then drains. */
async function serve(args: string[], terminal: Terminal): Promise<number> {
  const options = Object.fromEntries(
    names.map((name) => [name, { type: 'string' as const, multiple: name === 'alias' }]),
  )
  const { values } = readArguments(args, { options })
  // `--alias` may be repeated. Of any other flag the last one counts.
  const flags = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, [value].flat().join(',')]),
  ) as Partial<Record<SettingName, string>>
  limitYoungHeap()
  const config = loadConfig({ flags, env: terminal.env })
  // Before the start: a signal must not interrupt it.
  const signals = listenForSignals(terminal)
  const service = await startClearly(config)
  const setBy = flags.token
    ? '--token'
    : terminal.env.FILMGATE_TOKEN && config.acceptsGivenToken
      ? 'FILMGATE_TOKEN'
      : null
  const operatorSetBy = flags['operator-token'] ? '--operator-token' : 'FILMGATE_OPERATOR_TOKEN'
  const warn = (warning: string) => terminal.err(`filmgate: ${printable(warning)}\n`)
  for (const warning of service.warnings) warn(warning)
  const isTerminal = terminal.stdoutIsTerminal
  terminal.out(banner(service, config, { program: programToPaste(terminal.env), setBy, operatorSetBy, isTerminal }))
  const stopping = new AbortController()
  void returnIdleMemory({ sleep }, { signal: stopping.signal, warn })
  const failure = await Promise.race([signals.stop.then(() => null), service.failed])
  stopping.abort()
  if (failure) terminal.err(`filmgate: the store failed (${failure.message}); stopping\n`)
  else terminal.out('Stopping: requests in progress finish first. Ctrl-C again stops at once.\n')
  const again = signals.again.then(() => 'again')
  const late = terminal.sleep(drainMs).then(() => 'late')
  const drained = await Promise.race([service[Symbol.asyncDispose](), again, late])
  if (drained === 'late') terminal.err('filmgate: not everything ended in time; the rest continues at the next start\n')
  return failure || drained === 'again' ? 1 : 0
}

async function startClearly(config: Config): Promise<Service> {
  try {
    return await start(config)
  } catch (error) {
    throw startFailure(error, config)
  }
}

/** What Node adds to the errors of addresses. */
interface Refused {
  hostname?: string
  port?: number
}

interface Listening {
  host: string
  port: number
  operatorPort?: number | null
}

/** A clear message if the address can't be used. Other errors stay as they are. */
export function startFailure(error: unknown, { host, port, operatorPort }: Listening): unknown {
  const { code, syscall, hostname, port: refused = port } = error as NodeJS.ErrnoException & Refused
  const flag = refused !== port && refused === operatorPort ? '--operator-port' : '--port'
  // Errors of a database or a bucket may have the same codes.
  if (code === 'ENOTFOUND' && hostname === host) return noAddress(host)
  if (syscall !== 'listen') return error
  const address = `port ${refused} on ${host}`
  if (code === 'EADDRINUSE')
    return new Error(`${address} is already in use; choose another with ${flag}, or 0 for any free one`)
  if (code === 'EACCES') return new Error(`this user may not use ${address}; choose a port above 1023 with ${flag}`)
  return code === 'EADDRNOTAVAIL' ? noAddress(host) : error
}

function noAddress(host: string): Error {
  return new Error(`${host} is not an address of this machine; choose one with --host`)
}

function optionHelp(name: SettingName): string {
  const { variable, fallback, help: about } = settings[name]
  return `  --${name.padEnd(17)} ${variable}${fallback === '' ? '' : ` (${fallback})`}\n${' '.repeat(22)}${about}`
}

/** A terminal or a supervisor may signal both the launcher and this process, and the launcher passes its signal on. */
const sameSignalMs = 1_000

/** The first signal, and a second one that is not a copy of it. */
function listenForSignals({ now }: Terminal): { stop: Promise<void>; again: Promise<void> } {
  const [stop, again] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let first: number | undefined
  const onSignal = () => {
    first ??= now()
    stop.resolve()
    if (now() - first >= sameSignalMs) again.resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, onSignal)
  return { stop: stop.promise, again: again.promise }
}
