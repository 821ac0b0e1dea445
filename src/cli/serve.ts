import { once } from 'node:events'
import { resolve } from 'node:path'
import { type SettingName, settings } from '../config/settings.ts'
import { type Config, loadConfig } from '../config.ts'
import { type Service, start } from '../main.ts'
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import type { Terminal } from './terminal.ts'
import { version } from './version.ts'

const names = Object.keys(settings) as SettingName[]

const help = `Usage: filmgate serve [options]

Runs the Videos API with its built-in renderer and everything it needs.

Options (each also an environment variable):
${names.map((name) => `  --${name.padEnd(10)} ${settings[name].variable.padEnd(19)} ${settings[name].help}${fallbackOf(name)}`).join('\n')}

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
  const config = loadConfig({ flags: values as Partial<Record<SettingName, string>>, env: terminal.env })
  // From here on: a signal in the middle of the start must not tear it apart.
  const stop = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  const service = await startClearly(config)
  terminal.out(banner(service, config))
  const failure = await Promise.race([stop.then(() => null), service.failed])
  if (failure) terminal.err(`filmgate: the store failed (${failure.message}); stopping\n`)
  else terminal.out('Stopping: requests in progress finish first. Press Ctrl-C again to stop at once.\n')
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

function banner({ url, firstSecret }: Service, config: Config): string {
  const models = [...config.catalog.entries.keys()]
  const shown = `${models.slice(0, 6).join(', ')}${models.length > 6 ? `, … (${models.length} in all)` : ''}`
  return `
Filmgate ${version()} is ready.

  Base URL   ${url}/v1
  Token      ${firstSecret ? `${firstSecret}   (shown only this once: keep it)` : tokenHint(config)}
  Models     ${shown || 'none: enable a provider in filmgate.yaml'}
  Data       ${resolve(config.data)}
${models.length > 0 ? firstSteps(url, config.catalog.defaultModel ?? models[0] ?? '', firstSecret ?? '$FILMGATE_TOKEN') : ''}`
}

function firstSteps(url: string, model: string, token: string): string {
  return `
Make a film:

  curl ${url}/v1/videos \\
    -H "Authorization: Bearer ${token}" \\
    -H "Content-Type: application/json" \\
    -d '{"model": "${model}", "prompt": "a red fox in snow at dusk"}'

Then GET ${url}/v1/videos/{id} until it is completed, and fetch …/{id}/content.
`
}

function tokenHint({ tokens }: Config): string {
  const names = tokens.map(({ name }) => name)
  if (names.length === 0) return 'the one printed at the first start (lost it? set FILMGATE_TOKEN to one of your own)'
  return names.length === 1 && names[0] === 'default'
    ? 'the one you set as FILMGATE_TOKEN'
    : `as configured: ${names.join(', ')}`
}

function fallbackOf(name: SettingName): string {
  const { fallback } = settings[name]
  return fallback === '' ? '' : ` (${fallback})`
}
