import { availableParallelism } from 'node:os'
import { type AccountConfig, readAccounts } from './config/accounts.ts'
import { type Combining, openCombining } from './config/declared.ts'
import { readYaml } from './config/file.ts'
import { Mistakes } from './config/mistakes.ts'
import { readModels } from './config/models.ts'
import { originsOf } from './config/origins.ts'
import { type BucketPlace, checkPlaces, type Role, type StorePlace, secretsOf, warningsOf } from './config/places.ts'
import { readPrices, warningsOfPrices } from './config/prices.ts'
import { rereadChanged } from './config/reread.ts'
import type { FileSettings } from './config/schema.ts'
import { type SettingName, settings } from './config/settings.ts'
import { readTokens, warningsOfPatterns } from './config/tokens.ts'
import { readTraces } from './config/traces.ts'
import type { AlarmReceivers } from './core/alarms.ts'
import { buildCatalog, type Catalog } from './core/catalog.ts'
import type { Handover } from './core/handover.ts'
import type { PriceSettings } from './core/prices.ts'
import type { RereadSettings, SettingOrigin } from './core/setting-origin.ts'
import type { Token, UnknownParameters } from './core/token.ts'
import type { TraceSettings } from './core/trace.ts'
import type { SecretKey } from './core/vault.ts'
import { parseAllow } from './outbound.ts'
import { type Member, providers } from './providers/index.ts'

/** Everything the service needs to know, checked. Nothing else reads the environment or filmgate.yaml. */
export interface Config {
  host: string
  port: number
  /** The port of the operator routes; null if they are on the same port as the others. */
  operatorPort: number | null
  /** The addresses that may read metrics without a token. */
  metricsAllow: readonly string[]
  /** The proxies whose X-Forwarded-For counts. */
  trustedProxies: readonly string[]
  data: string
  store: StorePlace
  bucket: BucketPlace
  handover: Handover
  role: Role
  retentionMs: number
  /** How long the usage of ended tasks is kept. */
  usageRetentionMs: number
  /** Where the usage of ended tasks is sent; null if it is not. */
  usageWebhook: { readonly url: string; readonly token: string | null } | null
  /** Where alarms are sent, and how long a task may be queued without an alarm. */
  alarms: AlarmSettings
  /** Whether `/docs` and `/openapi.json` exist. */
  docs: boolean
  /** Whether the operator's console is served, if it is built. */
  console: boolean
  /** How many videos a token without a rate of its own may create in a minute; 0 is no limit. */
  ratePerMinute: number
  /** How many tasks of a project may wait, for tokens without a limit of their own; 0 is no limit. */
  queued: number
  /** How many bytes of a project may be stored when it creates a video, likewise. */
  storedBytes: number
  /** No video is accepted if that many bytes are stored, or more; 0 is no limit. */
  bucketLimit: number
  /** What happens to unknown parameters, for tokens without a setting of their own. */
  unknownParameters: UnknownParameters
  /** The origins of web pages that may read responses. */
  corsOrigins: readonly string[]
  /** No video is accepted if the disk of the data folder has less space. */
  diskReserveBytes: number
  /** Whether Azure's paths and header are accepted. */
  azure: boolean
  catalog: Catalog
  accounts: readonly AccountConfig[]
  tokens: readonly Token[]
  /** Whether FILMGATE_TOKEN is one of them: the file may have another token with its name. */
  acceptsGivenToken: boolean
  /** What videos cost; null if they are free. */
  prices: PriceSettings | null
  /** Private addresses to which outbound requests may go. */
  outboundAllow: readonly string[]
  /** Adds accounts, models and aliases that operators declare while the service runs. */
  combining: Combining
  /** Where traces are sent; null if they are not. */
  traces: TraceSettings | null
  /** The keys that encrypt secrets in the store; the first encrypts. None if the setting is missing. */
  secretKeys: readonly SecretKey[]
  /** All secrets in plain text, which the log removes. */
  secrets: readonly string[]
  /** Every value, and where it comes from. */
  origins: readonly SettingOrigin[]
  /** The same as a start would read it now: the file may have been changed. */
  reread(): RereadSettings
  /** What works but is probably a mistake, for the operator. */
  warnings: readonly string[]
  /** The same about names of models, of which more may exist than are configured. */
  warningsOfModels(catalog: Catalog): string[]
}

interface AlarmSettings extends AlarmReceivers {
  readonly queueAgeMs: number
}

export interface ConfigSources {
  flags: Partial<Record<SettingName, string>>
  env: Readonly<Record<string, string | undefined>>
  /** The default is all providers. */
  members?: Readonly<Record<string, Member>>
}

/** Variables of other commands, which may be set in the same environment. */
const clientVariables = ['FILMGATE_BASE_URL']

/** Their values may contain a password, so no mistake repeats them. */
const unshown: readonly SettingName[] = [
  ...(['store', 'bucket', 'usage-webhook', 'usage-webhook-token', 'secret-key'] as const),
  ...(['alarm-webhook', 'alarm-webhook-secret', 'alarm-slack'] as const),
]

/** Throws `Mistakes` with every mistake. A flag wins over its variable. */
export function loadConfig(sources: ConfigSources): Config {
  const { flags, env, members = providers } = sources
  const mistakes = new Mistakes()
  const raw = (name: SettingName) => {
    const setting = settings[name]
    const [where, text] =
      flags[name] !== undefined ? [`--${name}`, flags[name]] : [setting.variable, env[setting.variable]]
    return { where, text: text === '' ? undefined : text }
  }
  const read = <Name extends SettingName>(name: Name) => {
    const { where, text } = raw(name)
    const { value, fix } = settings[name].parse(text ?? settings[name].fallback)
    const shown = unshown.includes(name) ? 'its value' : `'${text}'`
    if (fix) mistakes.add(where, `${shown} can't be used`, fix)
    return value as ReturnType<(typeof settings)[Name]['parse']>['value']
  }

  const [host, port, data, retentionMs] = [read('host'), read('port'), read('data'), read('retention')]
  const [ratePerMinute, queued, storedBytes] = [read('rate'), read('queued'), read('stored-bytes')]
  const [diskReserveBytes, bucketLimit] = [read('disk-reserve'), read('bucket-limit')]
  const usageRetentionMs = read('usage-retention')
  const [webhookUrl, webhookToken] = [read('usage-webhook'), read('usage-webhook-token')]
  if (webhookToken !== null && raw('usage-webhook').text === undefined)
    mistakes.add(raw('usage-webhook-token').where, 'there is no URL for this token', 'set FILMGATE_USAGE_WEBHOOK, too')
  const alarms = readAlarms(read, raw, mistakes)
  const [docs, azure, console] = [read('docs'), read('azure'), read('console')]
  const [unknownParameters, corsOrigins] = [read('unknown-parameters'), read('cors-origins')]
  const [operatorPort, trustedProxies] = [read('operator-port'), read('trusted-proxies')]
  if (operatorPort === port && port !== 0)
    mistakes.add(
      raw('operator-port').where,
      `${port} is also the port of the API`,
      'choose another port for one of them',
    )
  const metricsAllow = read('metrics-allow')
  const secretKeys = read('secret-key')
  const traces = readTraces(env, read('trace-prompts'), mistakes)
  const places = { store: read('store'), bucket: read('bucket'), handover: read('content'), role: read('role') }
  checkPlaces(places, (name) => raw(name).where, mistakes)
  refuseUnknownVariables(env, mistakes)
  const file = readYaml(raw('config'), env, mistakes)
  const accounts = readAccounts(file, members, { cores: availableParallelism(), env }, mistakes)
  const given = { where: raw('alias').where, pairs: read('alias') }
  const { cards, aliases, defaultModel } = readModels(file, accounts, members, given, mistakes)
  const { tokens, patterns, warnings, acceptsGiven, secrets } = readTokens(
    file.tokens ?? [],
    { client: raw('token'), operator: raw('operator-token') },
    mistakes,
  )
  const keys = accounts.list.flatMap(({ credential }) => credential ?? [])
  const outboundAllow = readAllow(file.outbound ?? {}, mistakes)
  const prices = readPrices(file, mistakes)
  mistakes.throwIfAny()
  const catalog = buildCatalog(cards, aliases, defaultModel)
  const allSecrets = [
    ...secrets,
    ...keys,
    ...secretsOf(places.store),
    ...(webhookToken === null ? [] : [webhookToken]),
    // The URLs contain tokens.
    ...[alarms.webhook?.url, alarms.webhook?.secret, alarms.slack].flatMap((secret) => secret ?? []),
    ...secretsIn(raw('secret-key').text),
    ...secretHeaders(traces?.headers ?? {}),
  ]
  const origins = originsOf({
    ...{ raw, env, members, file, mistakes, secrets: allSecrets },
    unshown: [...unshown, 'token', 'operator-token'],
  })
  return {
    host,
    port,
    operatorPort,
    trustedProxies,
    metricsAllow,
    data,
    ...places,
    retentionMs,
    usageRetentionMs,
    usageWebhook: webhookUrl === null ? null : { url: webhookUrl, token: webhookToken },
    alarms,
    docs,
    console,
    ratePerMinute,
    queued,
    storedBytes,
    bucketLimit,
    diskReserveBytes,
    unknownParameters,
    corsOrigins,
    azure,
    catalog,
    accounts: accounts.list,
    tokens,
    acceptsGivenToken: acceptsGiven,
    combining: openCombining({ file, accounts: accounts.list, members, given }),
    traces,
    secretKeys,
    secrets: allSecrets,
    origins,
    reread: rereadChanged([mistakes.file, ...keyFilesOf(members, env)], () => rereadOrigins(sources)),
    prices,
    outboundAllow,
    warnings: [...warnings, ...warningsOf(places)],
    warningsOfModels: (all) => [...warningsOfPatterns(patterns, all, mistakes), ...warningsOfPrices(prices, all)],
  }
}

/** The key files of vendors: a start fails without them. */
function keyFilesOf(members: Readonly<Record<string, Member>>, env: ConfigSources['env']): string[] {
  return Object.values(members).flatMap(({ key }) => (key?.isFile && env[key.variable]?.trim()) || [])
}

function rereadOrigins(sources: ConfigSources): RereadSettings {
  try {
    return { origins: loadConfig(sources).origins, mistakes: [] }
  } catch (error) {
    if (error instanceof Mistakes) return { origins: null, mistakes: error.list }
    throw error
  }
}

/** The private addresses to which the service may connect for a client. */
function readAllow({ allow = [] }: NonNullable<FileSettings['outbound']>, mistakes: Mistakes): readonly string[] {
  const fix = 'use an address, address:port, a range such as 10.1.0.0/16, or a host name'
  for (const [at, entry] of allow.entries())
    if (!parseAllow(entry))
      mistakes.addUnknown(`outbound.allow[${at}]`, entry, fix, (quoted) => `${quoted} is not an address`)
  return allow
}

/**
 * Values that may be keys, for the log to remove. Headers with keys may have any name. A short value, such as the name of a
 * tenant, stays: it may be a word of other lines, too.
 */
function secretHeaders(headers: Readonly<Record<string, string>>): string[] {
  const isSecret = ([name, value]: [string, string]) => /auth|key|token|secret/i.test(name) || value.length >= 16
  return Object.entries(headers)
    .filter(isSecret)
    .flatMap(([, value]) => [value, ...value.split(' ')])
}

/** Each key of the setting, for the log to remove. */
function secretsIn(text = ''): string[] {
  return text.split(/[,\n]/).flatMap((key) => key.trim() || [])
}

/** An unknown variable with the prefix is a typo, which must not silently leave the default. */
function refuseUnknownVariables(env: ConfigSources['env'], mistakes: Mistakes): void {
  const known = [...Object.values(settings).map(({ variable }) => variable), ...clientVariables]
  for (const name of Object.keys(env)) {
    if (name.startsWith('FILMGATE_') && !known.includes(name))
      mistakes.add(name, 'there is no such setting', `use one of: ${known.join(', ')}`)
  }
}

type AlarmSettingName = Extract<SettingName, `alarm-${string}`>

function readAlarms(
  read: <Name extends AlarmSettingName>(name: Name) => ReturnType<(typeof settings)[Name]['parse']>['value'],
  raw: (name: AlarmSettingName) => { where: string; text: string | undefined },
  mistakes: Mistakes,
): AlarmSettings {
  const [url, secret] = [read('alarm-webhook'), read('alarm-webhook-secret')]
  const [given, signing] = [raw('alarm-webhook'), raw('alarm-webhook-secret')]
  if (given.text !== undefined && signing.text === undefined)
    mistakes.add(given.where, 'there is no secret that signs alarms', 'set FILMGATE_ALARM_WEBHOOK_SECRET, too')
  if (given.text === undefined && signing.text !== undefined)
    mistakes.add(signing.where, 'there is no URL for this secret', 'set FILMGATE_ALARM_WEBHOOK, too')
  return {
    webhook: url !== null && secret !== null ? { url, secret } : null,
    slack: read('alarm-slack'),
    queueAgeMs: read('alarm-queue-age'),
  }
}
