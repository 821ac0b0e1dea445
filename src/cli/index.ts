import { Mistakes } from '../config/mistakes.ts'
import { serve, serveHelp } from './serve.ts'
import { version } from './version.ts'

/** A command takes its own arguments and returns the exit code. */
type Command = (args: string[]) => Promise<number>

const commands: Record<string, { run: Command; summary: string; help: string }> = {
  serve: { run: serve, summary: 'run the service', help: serveHelp },
}

const help = `Filmgate: one self-hosted Videos API in front of every video model.

Usage: filmgate <command> [options]

Commands:
${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

  filmgate <command> --help   says more
  filmgate --version
`

/** Runs a command line; returns the exit code: 0 done, 1 failed, 2 a mistake in what was asked. */
export async function runCli(argv: string[]): Promise<number> {
  const [name, ...args] = argv
  if (name === '--version' || name === '-v') return print(`${version()}\n`)
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return print(help)
  const command = commands[name]
  if (!command)
    return complain(`there is no command '${name}'; the commands are: ${Object.keys(commands).join(', ')}`, 2)
  if (args.includes('--help') || args.includes('-h')) return print(command.help)
  try {
    return await command.run(args)
  } catch (error) {
    if (error instanceof Mistakes) {
      const { length } = error.list
      return complain(
        [
          length === 1 ? 'a mistake in the configuration:' : `${length} mistakes in the configuration:`,
          ...error.list,
        ].join('\n  '),
        2,
      )
    }
    const { code, message } = error as NodeJS.ErrnoException
    return complain(message, code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1)
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function complain(text: string, code: number): number {
  process.stderr.write(`filmgate: ${text}\n`)
  return code
}
