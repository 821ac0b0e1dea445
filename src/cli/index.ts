import { Mistakes } from '../config/mistakes.ts'
import { suggestion } from './arguments.ts'
import type { Command } from './command.ts'
import { exits, Failure, Interrupted, UsageFailure } from './failure.ts'
import { asTyped } from './program.ts'
import { jsonLine, painter, printable, printableLines } from './screen/text.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import { version } from './version.ts'

interface Entry {
  summary: string
  /** Only what is asked for is loaded: a client has no use for the server. */
  load(): Promise<{ command: Command }>
}

const commands: Record<string, Entry> = {
  serve: { summary: 'run the service', load: () => import('./serve.ts') },
  generate: { summary: 'make a film and fetch it', load: () => import('./generate.ts') },
  remix: { summary: 'make another version of a video', load: () => import('./remix.ts') },
  edit: { summary: 'change a video, or a file, by a prompt', load: () => import('./edit.ts') },
  extend: { summary: 'make a video, or a file, longer', load: () => import('./extend.ts') },
  batch: { summary: 'make a film of each line of a file', load: () => import('./batch.ts') },
  list: { summary: 'list videos, the newest first', load: () => import('./list.ts') },
  get: { summary: 'show one video', load: () => import('./get.ts') },
  download: { summary: 'wait for a video and fetch it', load: () => import('./download.ts') },
  delete: { summary: 'delete a video, or cancel one that is being made', load: () => import('./delete.ts') },
  models: { summary: 'list the models', load: () => import('./models.ts') },
  webhooks: { summary: 'be told of finished videos, and see what was sent', load: () => import('./webhooks.ts') },
  task: { summary: 'for operators: what happened to a task, and what to do', load: () => import('./task.ts') },
  accounts: { summary: 'for operators: the provider accounts and how they do', load: () => import('./accounts.ts') },
  config: { summary: 'for operators: the JSON Schema of filmgate.yaml', load: () => import('./config.ts') },
  doctor: { summary: 'for operators: can each provider account be used?', load: () => import('./doctor.ts') },
  simulate: { summary: 'for operators: a provider to rehearse with', load: () => import('./simulate.ts') },
  migrate: { summary: 'for operators: move to PostgreSQL and S3, or back', load: () => import('./migrate.ts') },
}

const help = `Filmgate: one self-hosted Videos API in front of every video model.

Usage: filmgate <command> [options]

Without a command it runs the service, with the options of \`serve\`.

Commands:
${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

Examples:
  filmgate serve
  filmgate generate "a red fox in snow at dusk" -o fox.mp4

  filmgate <command> --help   says more
  filmgate --version
`

/** Runs a command line; returns the exit code. */
export async function runCli(argv: string[]): Promise<number> {
  const terminal = openTerminal()
  const [name, ...args] = withCommand(argv)
  try {
    return await run(name, args, terminal)
  } catch (error) {
    if (args.includes('--json')) terminal.out(jsonLine(asFailure(error)))
    return complain(asFailure(error), name, terminal)
  }
}

/** The first thing that a newcomer types, `npx filmgate`, serves. */
function withCommand(argv: string[]): [name: string, ...args: string[]] {
  const [first = 'serve', ...args] = argv
  return first.startsWith('-') && !['--help', '-h', '--version', '-v'].includes(first)
    ? ['serve', ...argv]
    : [first, ...args]
}

async function run(name: string, args: string[], terminal: Terminal): Promise<number> {
  if (name === '--version' || name === '-v') return print(`${version()}\n`, terminal)
  const asked = name === 'help' ? args[0] : name
  if (asked === undefined || asked === '--help' || asked === '-h') return print(asTyped(help, terminal.env), terminal)
  const entry = Object.hasOwn(commands, asked) ? commands[asked] : undefined
  if (!entry) {
    const known = Object.keys(commands)
    throw new UsageFailure(
      `there is no command '${asked}'${suggestion(asked, known) || `; the commands are: ${known.join(', ')}`}`,
    )
  }
  const { command } = await entry.load()
  // After `--` everything is meant literally.
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
  if (name === 'help' || flags.includes('--help') || flags.includes('-h'))
    return print(asTyped(command.help, terminal.env), terminal)
  return command.run(args, terminal)
}

/** Everything that is thrown ends here; what is no `Failure` keeps its message and never shows its stack. */
function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof Mistakes) {
    const { list } = error
    const title =
      list.length === 1 ? 'a mistake in the configuration:' : `${list.length} mistakes in the configuration:`
    return new UsageFailure(title, list.map((mistake) => `  ${mistake}`).join('\n'))
  }
  if ((error as Error).name === 'AbortError') return new Interrupted('interrupted')
  return new Failure((error as Error).message, { cause: error })
}

function complain({ message, hint, exitCode }: Failure, name: string, terminal: Terminal): number {
  const paint = painter(terminal.colour.stderr)
  const general = exitCode === exits.usage && hint === null && Object.hasOwn(commands, name)
  const advice = hint ?? (general ? `filmgate ${name} --help says more` : null)
  // A message is one line whatever a server put into it; only hints, which are ours, have several.
  const more = advice === null ? '' : `${printableLines(asTyped(advice, terminal.env))}\n`
  terminal.err(`${paint('red', 'filmgate:')} ${printable(message)}\n${more}`)
  return exitCode
}

function print(text: string, terminal: Terminal): number {
  terminal.out(text)
  return exits.done
}
