import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { Service } from '../main.ts'
import { standardUrl } from './connection.ts'
import { version } from './program.ts'
import { fit } from './screen/text.ts'

interface Start {
  /** The command that runs this program. */
  program: string
  /** How the operator set the token; null if it is in filmgate.yaml or generated. */
  setBy: '--token' | 'FILMGATE_TOKEN' | null
  /** The same for the operator's token. */
  operatorSetBy: '--operator-token' | 'FILMGATE_OPERATOR_TOKEN'
  /** Whether a person reads it. Otherwise it may be kept in a log. */
  isTerminal: boolean
}

/** What `serve` prints when the service is ready, in 80 columns. */
export function banner(service: Service, config: Config, start: Start): string {
  const { url, operatorUrl, firstSecret, operatorSecret, readOnly } = service
  const models = [...config.catalog.entries.keys()]
  if (config.role === 'worker') return workerBanner(service, models, config)
  const once = '(shown once: keep it)'
  const facts = [
    ...readOnlyFact(service),
    ['Base URL', `${url}/v1`],
    ...consoleFact(service, start),
    ['Docs', config.docs ? `${url}/docs` : ''],
    ['Token', firstSecret ? `${firstSecret}  ${once}` : tokenHint(config, start)],
    ['Operators', operatorUrl ? `${operatorUrl}/operator/v1` : ''],
    ['Operator', operatorSecret ? `${operatorSecret}  ${once}` : operatorHint(config, start)],
    ['Models', listed(models, 67) || 'none: enable a provider in filmgate.yaml'],
    ['Data', resolve(config.data)],
  ]
  const lines = facts.flatMap(([name = '', value]) => (value ? [`  ${name.padEnd(10)} ${value}`] : []))
  const steps =
    models.length > 0 && readOnly === null
      ? firstSteps(service, config.catalog.defaultModel ?? models[0] ?? '', start)
      : ''
  return `${heading(service)}\n\n${lines.join('\n')}\n${steps}`
}

function heading({ readOnly }: Service): string {
  return `\nFilmgate ${version()} is ${readOnly === null ? 'ready' : 'running, read-only'}.`
}

const readOnlyReasons = {
  full: 'the disk of the database is full: free some space',
  read_only: 'the database is read-only: make it writable',
  unavailable: 'the database refuses writes: see the log for the cause',
}

/** Why no videos can be created, and that a fix needs no restart. */
function readOnlyFact({ readOnly }: Service): string[][] {
  return readOnly === null ? [] : [['Read-only', `${readOnlyReasons[readOnly]} (no restart)`]]
}

/**
 * The link that signs in the operator: at the first start, which shows their token as well, and to a person at a
 * terminal. The log of a later start must not open the console.
 */
function consoleFact({ webConsole, url, operatorUrl, operatorSecret }: Service, { program, isTerminal }: Start) {
  if (!webConsole) return []
  if (!webConsole.isBuilt) return [['Console', 'not built: npm run build:console, then start again']]
  const page = operatorUrl ?? url
  const code = isTerminal || operatorSecret !== null ? webConsole.createCode() : null
  if (code === null) return [['Console', `${page}  (sign in: ${program} console)`]]
  return [
    ['Console', `${page}/#code=${code}`],
    ['', '(this link signs you in once, within 10 minutes)'],
  ]
}

/** Without the API: a worker accepts no requests. */
function workerBanner(service: Service, models: readonly string[], { data }: Config): string {
  const facts = [
    ...readOnlyFact(service),
    ['Role', 'worker: runs tasks; send requests to a process with role api'],
    ['Health', `${service.url}/readyz`],
    ['Models', listed(models, 67) || 'none: enable a provider in filmgate.yaml'],
    ['Data', resolve(data)],
  ]
  const lines = facts.map(([name = '', value]) => `  ${name.padEnd(10)} ${value}`)
  return `${heading(service)}\n\n${lines.join('\n')}\n`
}

function firstSteps({ url, firstSecret }: Service, model: string, { program, setBy }: Start): string {
  const prompt = 'a red fox in snow at dusk'
  const elsewhere = `${url}/v1` === standardUrl ? '' : `  export FILMGATE_BASE_URL=${url}/v1\n`
  return `
Create a video:

  curl ${url}/v1/videos \\
    -H "Authorization: Bearer ${firstSecret ?? (setBy === 'FILMGATE_TOKEN' ? '$FILMGATE_TOKEN' : '<token>')}" \\
    -H "Content-Type: application/json" \\
    -d '{"model": "${model}", "prompt": "${prompt}"}'

Then GET ${url}/v1/videos/{id} until it is completed,
and fetch …/{id}/content. Or use the command line, which does all of that:

  export FILMGATE_TOKEN=${firstSecret ?? "'<token>'"}
${elsewhere}  ${program} generate "${prompt}"
`
}

function tokenHint({ tokens }: Config, { setBy }: Start): string {
  const names = tokens.filter(({ kind }) => kind === 'client').map(({ name }) => name)
  if (names.length === 0) return 'printed at the first start (lost it? set FILMGATE_TOKEN)'
  return names.length === 1 && setBy ? `set as ${setBy}` : `configured: ${listed(names, 52)}`
}

function operatorHint({ tokens }: Config, { operatorSetBy }: Start): string {
  const isSet = tokens.some(({ kind }) => kind === 'operator')
  return isSet ? `set as ${operatorSetBy}` : `printed at the first start (lost it? set ${operatorSetBy})`
}

/** As many names as fit. */
function listed(names: readonly string[], room: number): string {
  for (let shown = names.length; shown > 1; shown -= 1) {
    const rest = names.length - shown
    const text = `${names.slice(0, shown).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
    if (text.length <= room) return text
  }
  return fit(names[0] ?? '', room)
}
