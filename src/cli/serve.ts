import { type SettingName, settings } from '../config/settings.ts'
import { type Config, loadConfig } from '../config.ts'
import { type Service, start } from '../main.ts'
import { readArguments } from './arguments.ts'
import { banner } from './banner.ts'
import type { Command } from './command.ts'
import { programOf } from './program.ts'
import { printable } from './screen/text.ts'
import { startFailure } from './start-failure.ts'
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

/** What still waits then, for a bucket or a database that does not answer, is safe to be cut off: so is all else here. */
const drainMs = 28_000

/** Runs until a signal asks it to stop, then drains. */
async function serve(args: string[], terminal: Terminal): Promise<number> {
  const options = Object.fromEntries(
    names.map((name) => [name, { type: 'string' as const, multiple: name === 'alias' }]),
  )
  const { values } = readArguments(args, { options })
  // Each `--alias` adds one; of any other flag the last counts.
  const flags = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, [value].flat().join(',')]),
  ) as Partial<Record<SettingName, string>>
  const config = loadConfig({ flags, env: terminal.env })
  // From here on: a signal in the middle of the start must not tear it apart.
  const signals = listenForSignals(terminal)
  const service = await startClearly(config)
  const setBy = flags.token
    ? '--token'
    : terminal.env.FILMGATE_TOKEN && config.takesGivenToken
      ? 'FILMGATE_TOKEN'
      : null
  const operatorSetBy = flags['operator-token'] ? '--operator-token' : 'FILMGATE_OPERATOR_TOKEN'
  for (const warning of config.warnings) terminal.err(`filmgate: ${printable(warning)}\n`)
  terminal.out(banner(service, config, { program: programOf(terminal.env), setBy, operatorSetBy }))
  const failure = await Promise.race([signals.stop.then(() => null), service.failed])
  if (failure) terminal.err(`filmgate: the store failed (${failure.message}); stopping\n`)
  else terminal.out('Stopping: requests in progress finish first. Ctrl-C again stops at once.\n')
  const again = signals.again.then(() => 'again')
  const late = terminal.sleep(drainMs).then(() => 'late')
  const drained = await Promise.race([service[Symbol.asyncDispose](), again, late])
  if (drained === 'late') terminal.err('filmgate: not everything ended in time; the rest goes on at the next start\n')
  return failure || drained === 'again' ? 1 : 0
}

async function startClearly(config: Config): Promise<Service> {
  try {
    return await start(config)
  } catch (error) {
    throw startFailure(error, config)
  }
}

function optionHelp(name: SettingName): string {
  const { variable, fallback, help: about } = settings[name]
  return `  --${name.padEnd(17)} ${variable}${fallback === '' ? '' : ` (${fallback})`}\n${' '.repeat(22)}${about}`
}

/** A terminal, or a supervisor, may signal both a launcher and this process, which the launcher tells again. */
const sameSignalMs = 1_000

/** The first signal, and one that is not its echo. */
function listenForSignals({ now }: Terminal): { stop: Promise<void>; again: Promise<void> } {
  const [stop, again] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let first: number | undefined
  const hear = () => {
    first ??= now()
    stop.resolve()
    if (now() - first >= sameSignalMs) again.resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, hear)
  return { stop: stop.promise, again: again.promise }
}
