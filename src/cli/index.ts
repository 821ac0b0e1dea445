import { Mistakes } from '../config/mistakes.ts'
import { messageOf } from '../core/problem.ts'
import { type Command, suggestion } from './arguments.ts'
import { exits, Failure, Interrupted, UsageFailure } from './failure.ts'
import { asTyped, version } from './program.ts'
import { jsonLine, painter, printable, printableLines, wrap } from './screen/text.ts'
import { openTerminal, type Terminal } from './terminal.ts'

interface Entry {
  summary: string
  /** Loads only the code of this command: a client does not need the server. */
  load(): Promise<{ command: Command }>
}

const creating = (name: 'generate' | 'remix' | 'edit' | 'extend') => async () => ({
  command: (await import('./create.ts'))[name],
})
const videos = (name: 'list' | 'get' | 'download' | 'remove') => async () => ({
  command: (await import('./videos.ts'))[name],
})
const declaring = (name: 'model' | 'alias') => async () => ({ command: (await import('./model.ts'))[name] })

const commands: Record<string, Entry> = {
  serve: { summary: 'run the service', load: () => import('./serve.ts') },
  generate: { summary: 'create a video and download it', load: creating('generate') },
  remix: { summary: 'create another version of a video', load: creating('remix') },
  edit: { summary: 'change a video or a file by a prompt', load: creating('edit') },
  extend: { summary: 'extend a video or a file', load: creating('extend') },
  batch: { summary: 'create a video for each line of a file', load: () => import('./batch.ts') },
  list: { summary: 'list videos, newest first', load: videos('list') },
  get: { summary: 'show one video', load: videos('get') },
  download: { summary: 'wait for a video and download it', load: videos('download') },
  delete: { summary: 'delete a video, or cancel a running one', load: videos('remove') },
  models: { summary: 'list the models', load: () => import('./models.ts') },
  webhooks: { summary: 'manage webhook endpoints and their deliveries', load: () => import('./webhooks.ts') },
  usage: { summary: 'what videos used and cost; for operators, all of them', load: () => import('./usage.ts') },
  task: { summary: 'for operators: inspect a task, decide on a held one', load: () => import('./task.ts') },
  token: { summary: 'for operators: create, change and revoke tokens', load: () => import('./token.ts') },
  account: { summary: 'for operators: add, change, drain and remove accounts', load: () => import('./account.ts') },
  accounts: { summary: 'for operators: the health of provider accounts', load: () => import('./accounts.ts') },
  model: { summary: 'for operators: declare models and their routes', load: declaring('model') },
  alias: { summary: 'for operators: declare other names of models', load: declaring('alias') },
  console: { summary: 'for operators: a link that opens the console', load: () => import('./console.ts') },
  status: { summary: 'for operators: the whole service on one screen', load: () => import('./status.ts') },
  alarm: { summary: 'for operators: list and acknowledge alarms', load: () => import('./alarm.ts') },
  audit: { summary: 'for operators: who changed what, and when', load: () => import('./audit.ts') },
  config: { summary: 'for operators: the JSON Schema of filmgate.yaml', load: () => import('./config.ts') },
  prices: { summary: 'for operators: read a published price list', load: () => import('./prices.ts') },
  doctor: { summary: 'for operators: check each provider account and route', load: () => import('./doctor.ts') },
  simulate: { summary: 'for operators: run a simulated provider', load: () => import('./simulate.ts') },
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

  filmgate <command> --help
  filmgate --version
`

/** Runs a command and returns the exit code. */
export async function runCli(argv: string[], terminal = openTerminal()): Promise<number> {
  const [name, ...args] = withCommand(argv)
  try {
    return await run(name, args, terminal)
  } catch (error) {
    if (args.includes('--json')) terminal.out(jsonLine(asFailure(error)))
    return complain(asFailure(error), name, terminal)
  }
}

/** `npx filmgate` without a command runs the service. */
function withCommand(argv: string[]): [name: string, ...args: string[]] {
  const [first = 'serve', ...args] = argv
  return first.startsWith('-') && !['--help', '-h', '--version', '-v'].includes(first)
    ? ['serve', ...argv]
    : [first, ...args]
}

async function run(name: string, args: string[], terminal: Terminal): Promise<number> {
  if (name === '--version' || name === '-v') return print(`${version()}\n`, terminal)
  const word = name === 'help' ? args[0] : name
  if (word === undefined || word === '--help' || word === '-h') return print(asTyped(help, terminal.env), terminal)
  const entry = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (!entry) {
    const known = Object.keys(commands)
    throw new UsageFailure(
      `there is no command '${word}'${suggestion(word, known) || `; the commands are: ${known.join(', ')}`}`,
    )
  }
  const { command } = await entry.load()
  // After `--` every word is an operand.
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
  if (name === 'help' || flags.includes('--help') || flags.includes('-h'))
    return print(asTyped(command.help, terminal.env), terminal)
  return command.run(args, terminal)
}

/** Any other error keeps its message, without its stack. */
function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof Mistakes) {
    const { list } = error
    const title =
      list.length === 1 ? 'a mistake in the configuration:' : `${list.length} mistakes in the configuration:`
    return new UsageFailure(title, list.map((mistake) => `  ${mistake}`).join('\n'))
  }
  if (error instanceof Error && error.name === 'AbortError') return new Interrupted('interrupted')
  return new Failure(messageOf(error), { cause: error })
}

function complain({ message, hint, exitCode }: Failure, name: string, terminal: Terminal): number {
  const paint = painter(terminal.colour.stderr)
  const general = exitCode === exits.usage && hint === null && Object.hasOwn(commands, name)
  const advice = hint ?? (general ? `See filmgate ${name} --help` : null)
  // A message may contain text of a server, so it has no lines of its own. Only hints have.
  const text = onScreen(`filmgate: ${printable(message)}`, terminal).replace('filmgate:', paint('red', 'filmgate:'))
  const more = advice === null ? [] : printableLines(asTyped(advice, terminal.env)).split('\n')
  terminal.err([text, ...more.map((line) => onScreen(line, terminal)), ''].join('\n'))
  return exitCode
}

/** Broken into lines that fit. A command, which is indented, stays as it can be copied. */
function onScreen(line: string, terminal: Terminal): string {
  return terminal.live && !line.startsWith(' ') ? wrap(line, terminal.size().columns).join('\n') : line
}

function print(text: string, terminal: Terminal): number {
  terminal.out(text)
  return exits.done
}
