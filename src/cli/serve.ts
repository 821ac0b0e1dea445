import { once } from 'node:events'
import { type SettingName, settings } from '../config/settings.ts'
import { type Config, loadConfig } from '../config.ts'
import { type Service, start } from '../main.ts'
import { readArguments } from './arguments.ts'
import { banner } from './banner.ts'
import type { Command } from './command.ts'
import { programOf } from './program.ts'
import type { Terminal } from './terminal.ts'

const names = Object.keys(settings) as SettingName[]

const help = `Usage: filmgate serve [options]

Runs the Videos API with its built-in renderer and everything it needs.

Options (each also an environment variable):
${names.map(optionHelp).join('\n')}

Examples:
  filmgate serve
  filmgate serve --port 0 --data /var/lib/filmgate --retention 7d
  FILMGATE_TOKEN='my token' filmgate serve --host 0.0.0.0
`

export const command: Command = { help, run: serve }

/** Runs until a signal asks it to stop, then drains. */
async function serve(args: string[], terminal: Terminal): Promise<number> {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  const { values } = readArguments(args, { options })
  const flags = values as Partial<Record<SettingName, string>>
  const config = loadConfig({ flags, env: terminal.env })
  // From here on: a signal in the middle of the start must not tear it apart.
  const stop = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  const service = await startClearly(config)
  const setBy = flags.token ? '--token' : terminal.env.FILMGATE_TOKEN ? 'FILMGATE_TOKEN' : null
  terminal.out(banner(service, config, { program: programOf(terminal.env), setBy }))
  const failure = await Promise.race([stop.then(() => null), service.failed])
  if (failure) terminal.err(`filmgate: the store failed (${failure.message}); stopping\n`)
  else terminal.out('Stopping: requests in progress finish first. Ctrl-C again stops at once.\n')
  const again = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]).then(() => 'again')
  const drained = await Promise.race([service[Symbol.asyncDispose](), again])
  return failure || drained === 'again' ? 1 : 0
}

async function startClearly(config: Config): Promise<Service> {
  try {
    return await start(config)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const place = `port ${config.port} on ${config.host}`
    if (code === 'EADDRINUSE')
      throw new Error(`${place} is already in use; choose another with --port, or 0 for any free one`)
    if (code === 'EACCES')
      throw new Error(`${place} may not be used by this account; choose one above 1023 with --port`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Error(`${config.host} is no address of this machine; choose one with --host`)
    throw error
  }
}

function optionHelp(name: SettingName): string {
  const { variable, fallback, help: about } = settings[name]
  return `  --${name.padEnd(17)} ${variable}${fallback === '' ? '' : ` (${fallback})`}\n${' '.repeat(22)}${about}`
}
