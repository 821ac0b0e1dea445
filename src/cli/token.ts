import { readByteSize } from '../core/byte-size.ts'
import { readDuration } from '../core/duration.ts'
import { decimalPattern } from '../core/money.ts'
import { matchesGlob } from '../core/token.ts'
import { OperatorModelList } from '../wire/declared-models.ts'
import { isObject, pick, type Read } from '../wire/schema.ts'
import {
  OperatorToken,
  OperatorTokenList,
  OperatorTokenWithSecret,
  OperatorTokenWithUse,
  RotateToken,
} from '../wire/tokens.ts'
import { settingOf, type Values, wholeNumber } from './arguments.ts'
import { type Filmgate, operatorHelp } from './client.ts'
import { confirm } from './confirm.ts'
import { connectionOptions } from './connection.ts'
import { Failure, UsageFailure } from './failure.ts'
import { pagesOf } from './pages.ts'
import { facts, lookOf, roomOf, table } from './screen/table.ts'
import { type Paint, painter, printable } from './screen/text.ts'
import { bytes, count, relative } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import { timeAfter } from './times.ts'
import { operatorCommand, type Verb } from './verbs.ts'

const help = `Usage: filmgate token create NAME   create a token and print its secret
       filmgate token list          list all tokens
       filmgate token show TOKEN    show a token and what its project uses
       filmgate token change TOKEN  change its settings
       filmgate token rotate TOKEN  replace its secret and print the new one
       filmgate token revoke TOKEN  end it for good

For operators, with an operator's token. TOKEN is an id or a name. Every process
of the service follows a change within a second. A secret is shown only once.
Tokens of filmgate.yaml are listed, and can be changed only there.

Examples:
  filmgate token create anna --models 'kling-*' --rate 30 --expires 90d
  filmgate token create colleague --budget 5
  filmgate token create shop-ci --project shop > secret
  filmgate token create grafana --operator viewer
  filmgate token change anna --rate 60 --project none
  filmgate token rotate anna --overlap 24h
  filmgate token list --json | jq -r '.data[] | [.id, .name] | @tsv'

Options for create and change; \`none\` restores the default:
  --project NAME      tokens of a project share its videos (its own project)
  --models LIST       names with * for any run of characters, with commas
                      between them (all)
  --rate N            videos a minute, in each process; 0: no limit
  --concurrency N     tasks of its project that run at once
  --queued N          videos of its project that may wait; 0: no limit
  --stored SIZE       what its project may store: 500MB, 50GB; 0: no limit
  --budget LIST       what its videos may cost: 5, or 1/day,20/month; days begin
                      in UTC, or as in 1/day@Europe/Berlin
  --ip-ranges LIST    addresses that it may be used from: 10.0.0.0/8,203.0.113.7
  --expires TIME      90m, 24h, 30d, or a time such as 2027-01-31T00:00Z
  --metadata LIST     names and values for yourself: team=film,ticket=81
  --operator ROLE     for create: an operator's token, admin or viewer
  --name NAME         for change: another name
  --disable, --enable for change: refuse it for now, accept it again

Other options:
  --overlap TIME      for rotate: the old secret also works for this long (0s)
  -y, --yes           for revoke and --disable of the token that you use: don't
                      ask for confirmation
  --json              the response of the server; times are ISO 8601 in UTC

${operatorHelp}`

const options = {
  ...connectionOptions,
  project: { type: 'string' },
  models: { type: 'string' },
  rate: { type: 'string' },
  concurrency: { type: 'string' },
  queued: { type: 'string' },
  stored: { type: 'string' },
  'ip-ranges': { type: 'string' },
  budget: { type: 'string' },
  expires: { type: 'string' },
  metadata: { type: 'string' },
  operator: { type: 'string' },
  name: { type: 'string' },
  disable: { type: 'boolean' },
  enable: { type: 'boolean' },
  overlap: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
} as const

type Given = Values<typeof options>
type Shown = Read<typeof OperatorToken>
type Used = Read<typeof OperatorTokenWithUse>['used']

const TokenPage = pick(OperatorTokenList, ['data', 'last_id', 'has_more'])
const limits = ['rate', 'concurrency', 'queued', 'stored', 'budget', 'ip-ranges', 'expires'] as const
const settings = ['project', 'models', 'metadata', ...limits] as const
const theToken = ['the id or name of the token']

const verbs: Record<string, Verb<Given>> = {
  create: {
    operands: ['the name'],
    accepts: [...settings, 'operator'],
    async run({ operator, operands: [name = ''], values, terminal }) {
      const role = values.operator === undefined ? {} : { kind: 'operator', role: values.operator }
      const body = { name, ...role, ...settingsOf(values, terminal.now()) }
      const response = await operator.post('/tokens', OperatorTokenWithSecret, body)
      await warnOfModels(values, operator, terminal)
      return { response, show: () => showSecret('created', response, terminal) }
    },
  },
  list: {
    operands: [],
    async run({ operator, terminal }) {
      const data = await allTokens(operator)
      return { response: { object: 'list', data }, show: () => showTokens(data, terminal) }
    },
  },
  show: {
    operands: theToken,
    async run({ operator, operands: [token = ''], terminal }) {
      const response = await operator.get(pathOf(await findId(token, operator)), OperatorTokenWithUse)
      return { response, show: () => showToken(response, terminal, response.used) }
    },
  },
  change: {
    operands: theToken,
    accepts: [...settings, 'name', 'disable', 'enable', 'yes'],
    async run({ operator, operands: [token = ''], values, terminal }) {
      const { name, enable, disable } = values
      if (enable && disable) throw new UsageFailure('--enable and --disable contradict each other')
      const body = {
        ...(name !== undefined && { name }),
        ...((enable || disable) && { enabled: enable === true }),
        ...settingsOf(values, terminal.now()),
      }
      if (Object.keys(body).length === 0) throw new UsageFailure('there is nothing to change; set an option')
      const id = await findId(token, operator)
      if (disable && !values.yes) await confirmOwn('disable', id, operator, terminal)
      const response = await operator.post(pathOf(id), OperatorToken, body)
      await warnOfModels(values, operator, terminal)
      return { response, show: () => showToken(response, terminal) }
    },
  },
  rotate: {
    operands: theToken,
    accepts: ['overlap'],
    async run({ operator, operands: [token = ''], values: { overlap = '0s' }, terminal }) {
      const ms = readDuration(overlap)
      if (ms === undefined || ms / 1000 > RotateToken.properties.overlap_seconds.maximum)
        throw new UsageFailure(`--overlap ${overlap}: use up to 30d, such as 90m, 24h or 7d`)
      const path = `${pathOf(await findId(token, operator))}/rotate`
      const response = await operator.post(path, OperatorTokenWithSecret, { overlap_seconds: ms / 1000 })
      const what = ms === 0 ? 'the old secret has ended for' : `the old secret works for another ${overlap} for`
      return { response, show: () => showSecret(what, response, terminal) }
    },
  },
  revoke: {
    operands: theToken,
    accepts: ['yes'],
    async run({ operator, operands: [token = ''], values: { yes = false }, terminal }) {
      const id = await findId(token, operator)
      if (!yes) await confirmOwn('revoke', id, operator, terminal)
      const response = await operator.post(`${pathOf(id)}/revoke`, OperatorToken)
      return { response, show: () => printable(`revoked ${response.name} (${response.id})`).concat('\n') }
    },
  },
}

export const command = operatorCommand('token', { help, options, verbs })

async function allTokens(operator: Filmgate): Promise<Shown[]> {
  const pages = pagesOf(new URLSearchParams({ limit: '100' }), (query) => operator.get(`/tokens?${query}`, TokenPage))
  const tokens: Shown[] = []
  for await (const { data } of pages) tokens.push(...data)
  return tokens
}

/** A name is looked up. Several tokens may have had it, but only one that is not revoked. */
async function findId(operand: string, operator: Filmgate): Promise<string> {
  if (/^(tok_[0-9a-z]{12}$|config:)/.test(operand)) return operand
  const named = (await allTokens(operator)).filter(({ name }) => name === operand)
  const found = named.find(({ status }) => status !== 'revoked') ?? named[0]
  if (!found) throw new Failure(`there is no token '${operand}'`, { hint: 'All tokens:\n  filmgate token list' })
  return found.id
}

function pathOf(id: string): string {
  return `/tokens/${encodeURIComponent(id)}`
}

/** After the end of the token in use, the next command needs another one. */
async function confirmOwn(what: string, id: string, operator: Filmgate, terminal: Terminal): Promise<void> {
  if (id !== operator.tokenId) return
  const about = `${id} is the token that you use. After this, your commands need another operator's token.`
  const question = `${what[0]?.toUpperCase()}${what.slice(1)} it?`
  await confirm(
    `${id} is the token that you use: to ${what} it needs a confirmation`,
    async () => ({ about, question }),
    terminal,
  )
}

/** Models may be added later, so these are not refused. */
async function warnOfModels({ models = 'none' }: Given, operator: Filmgate, terminal: Terminal): Promise<void> {
  if (models === 'none') return
  // The change was made by then: a failure here must not hide its response, which may have the only copy of a secret.
  const found = await operator.get('/models', OperatorModelList).catch(() => null)
  if (!found) return
  const matches = (glob: string) =>
    glob === '*' || found.data.some(({ name, model }) => glob === name || matchesGlob(glob, model))
  const others = listOf(models).filter((glob) => !matches(glob))
  if (others.length > 0)
    terminal.err(printable(`--models ${others.join(',')}: no model matches now; see filmgate model list`).concat('\n'))
}

/** The settings of the options, as the API expects them. */
function settingsOf(values: Given, now: number): Record<string, unknown> {
  const { project, models, rate, concurrency, queued, stored, budget, expires, metadata } = values
  return {
    ...settingOf('project', project),
    ...(models !== undefined && { models: models === 'none' ? ['*'] : listOf(models) }),
    ...settingOf('rate', rate, (text) => wholeNumber(text, '--rate')),
    ...settingOf('concurrency', concurrency, (text) => wholeNumber(text, '--concurrency')),
    ...settingOf('queued', queued, (text) => wholeNumber(text, '--queued')),
    ...settingOf('stored_bytes', stored, byteSize),
    ...settingOf('ip_ranges', values['ip-ranges'], listOf),
    ...settingOf('spend', budget, capsOf),
    ...settingOf('expires_at', expires, (text) => new Date(timeAfter('expires', text, now)).toISOString()),
    ...settingOf('metadata', metadata, pairsOf),
  }
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** `5`, `1/day`, `20/month@Europe/Berlin`, with commas between them. */
function capsOf(text: string): Record<string, { limit: string; time_zone?: string } | null> {
  const caps = listOf(text).map((part) => {
    const [, limit = '', period = 'total', zone] = /^(\d[\d.]*)(?:\/(day|month)(?:@(.+))?)?$/.exec(part) ?? []
    if (limit === '') throw new UsageFailure(`--budget ${part}: use an amount such as 5, 1/day or 20/month`)
    if (!new RegExp(decimalPattern).test(limit))
      throw new UsageFailure(
        `--budget ${part}: use an amount such as 5 or 0.50, below 1000000000, with up to 12 decimals`,
      )
    return [period, { limit, ...(zone && { time_zone: zone }) }] as const
  })
  // The whole budget is replaced.
  return { day: null, month: null, total: null, ...Object.fromEntries(caps) }
}

function budgetText(spend: Shown['spend']): string {
  const { total, month, day } = spend ?? {}
  const zoned = (zone: string | undefined) => (zone === undefined || zone === 'UTC' ? '' : ` (${zone})`)
  return [
    day && `${day.limit} a day${zoned(day.time_zone)}`,
    month && `${month.limit} a month${zoned(month.time_zone)}`,
    total && `${total.limit} in all`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** As `--budget` accepts it, without time zones. */
function shortBudget(spend: Shown['spend']): string {
  const { total, month, day } = spend ?? {}
  return [day && `${day.limit}/day`, month && `${month.limit}/month`, total?.limit].filter(Boolean).join(',')
}

function byteSize(text: string): number {
  const size = readByteSize(text)
  if (size === undefined) throw new UsageFailure(`--stored ${text}: use 500MB or 50GB, 0 for no limit, or none`)
  return size
}

function pairsOf(text: string): Record<string, string> {
  const pairs = listOf(text).map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageFailure(`--metadata ${pair}: write name=value, with commas between pairs`)
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  return Object.fromEntries(pairs)
}

const colours: Record<string, 'green' | 'red' | 'yellow' | 'dim'> = {
  active: 'green',
  disabled: 'yellow',
  expired: 'yellow',
  overridden: 'yellow',
  revoked: 'dim',
}

function paintStatus(status: string, text: string, paint: Paint): string {
  const colour = Object.hasOwn(colours, status) ? colours[status] : undefined
  return colour ? paint(colour, text) : text
}

function showTokens(tokens: readonly Shown[], terminal: Terminal): string {
  if (tokens.length === 0) {
    terminal.err('There is no token. Create one:\n  filmgate token create NAME\n')
    return ''
  }
  const paint = painter(terminal.colour.stdout)
  const now = terminal.now()
  return table(
    tokens,
    [
      { title: 'NAME', text: ({ name }) => name, least: 8, paint: (_, text) => paint('bold', text) },
      { title: 'STATUS', text: ({ status }) => status, paint: ({ status }, text) => paintStatus(status, text, paint) },
      { title: 'KIND', text: ({ kind, role }) => role ?? kind },
      { title: 'PROJECT', text: ({ project }) => project ?? '', least: 8, extra: true },
      { title: 'BUDGET', text: ({ spend }) => shortBudget(spend), least: 8, extra: true },
      {
        title: 'EXPIRES',
        text: ({ expires_at: at }) => (at === null ? '' : relative(Date.parse(at), now)),
        extra: true,
      },
      { title: 'RATE', text: ({ rate }) => String(rate ?? ''), align: 'right', extra: true },
      { title: 'AT ONCE', text: ({ concurrency }) => String(concurrency ?? ''), align: 'right', extra: true },
      { title: 'ID', text: ({ id }) => id, least: 16, extra: true },
      { title: 'MODELS', text: ({ models }) => models.join(' '), least: 8, extra: true },
    ],
    { columns: roomOf(terminal), paint },
  )
}

function usedPairs(used: Used, now: number): [string, string][] {
  if (used === null) return [['used now', 'unknown: the database is unavailable']]
  const reset = (at: string | null) => (at === null ? '' : `, resets ${relative(Date.parse(at), now)}`)
  return [
    ['waiting now', used.more_queued ? `more than ${used.queued}` : String(used.queued)],
    ['stored now', bytes(used.stored_bytes)],
    ...used.spend.map(({ period, amount, limit, currency, resets_at: at }): [string, string] => [
      period === 'total' ? 'spent' : period === 'day' ? 'spent today' : `spent this ${period}`,
      `${amount} of ${limit} ${currency}${reset(at)}`,
    ]),
  ]
}

/** `used` is shown for a client token, if it was read. */
function showToken(token: Shown, terminal: Terminal, used?: Used): string {
  const now = terminal.now()
  const time = (at: string | null) => (at === null ? '' : `${relative(Date.parse(at), now)} (${at})`)
  const { metadata, kind, role, rate, concurrency, queued, stored_bytes: stored, ip_ranges: ranges } = token
  const pairs: [string, string][] = [
    ['id', token.id],
    ['name', token.name],
    ['status', token.status],
    ['kind', role === null ? kind : `${kind}, ${role}`],
    ['set in', token.source === 'config' ? 'the configuration' : ''],
    ['owner of videos', kind === 'client' ? token.owner : ''],
    ['models', kind === 'client' ? token.models.join(', ') || 'no model' : ''],
    ['rate', rate === null ? '' : rate === 0 ? 'no limit' : `${count(rate, 'video')} a minute`],
    ['concurrency', concurrency === null ? '' : `${count(concurrency, 'task')} at once`],
    ['queued', queued === null ? '' : queued === 0 ? 'no limit' : `${count(queued, 'waiting video')}`],
    ['stored', stored === null ? '' : stored === 0 ? 'no limit' : `${bytes(stored)} of videos and uploads`],
    ['budget', budgetText(token.spend)],
    ['ip ranges', ranges === null ? '' : ranges.join(', ')],
    ['expires', time(token.expires_at)],
    ['created', time(token.created_at)],
    ['changed', token.changed_at === token.created_at ? '' : time(token.changed_at)],
    ['revoked', time(token.revoked_at)],
    ['old secret until', time(token.old_secret_until)],
    ...(used === undefined || kind === 'operator' ? [] : usedPairs(used, now)),
    ...(isObject(metadata) ? Object.entries(metadata) : []).map(([name, value]): [string, string] => [
      `metadata ${name}`,
      String(value),
    ]),
  ]
  return facts(pairs, lookOf(terminal))
}

/** Only the secret goes to stdout, so that it can be piped. The rest goes to stderr. */
function showSecret(
  what: string,
  { id, name, secret }: Read<typeof OperatorTokenWithSecret>,
  terminal: Terminal,
): string {
  terminal.err(`${printable(`${what} ${name} (${id})`)}. Its secret is shown only once:\n`)
  return `${printable(secret)}\n`
}
