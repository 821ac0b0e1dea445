import { readFileSync } from 'node:fs'
import type { AccountMode, AccountSource } from '../core/account.ts'
import type { OnUnknown } from '../core/attempt.ts'
import { codeOf, messageOf } from '../core/problem.ts'
import { isPossibleSecret } from '../core/token.ts'
import type { VerifyMode } from '../core/verification.ts'
import { isPrivate, readBase } from '../outbound.ts'
import type { KeyRule, Member } from '../providers/index.ts'
import { type Mistakes, placeIn } from './mistakes.ts'
import type { AccountSettings, EngineSettings, FileSettings } from './schema.ts'

/** An account of a provider, as the operator configured it. */
export interface AccountConfig {
  name: string
  provider: string
  concurrency: number
  onUnknown: OnUnknown
  verify?: VerifyMode
  baseUrl: string | null
  credential: string | null
  mode?: AccountMode
  source?: AccountSource
}

export type Members = Readonly<Record<string, Member>>

export interface Accounts {
  list: AccountConfig[]
  /** Accounts of an unknown provider. That is reported once: a model on such an account is not another mistake. */
  unclear: ReadonlySet<string>
}

type Environment = Readonly<Record<string, string | undefined>>
/** `env` is null for an account that an operator adds while the service runs: its key is stored, not set by a variable. */
type Machine = { cores: number; env: Environment | null }

/**
 * The accounts of `accounts` and `engines`. A provider that needs no settings has an account by default, and so has one
 * whose key is in the environment, unless the file has an account of that provider.
 */
export function readAccounts(
  file: FileSettings,
  members: Members,
  machine: { cores: number; env: Environment },
  mistakes: Mistakes,
): Accounts {
  const { accounts: map = {}, engines = [] } = file
  const byDefault = Object.entries(members)
    .filter(([name, { needsNothing, key }]) =>
      Object.hasOwn(map, name) ? false : needsNothing || (isSet(key, machine.env) && !isNamed(map, name)),
    )
    .map(([name]) => name)
  const list: AccountConfig[] = []
  const unclear = new Set<string>()
  for (const name of [...byDefault, ...Object.keys(map)]) {
    const read = readAccount(name, map[name] ?? {}, { members, machine }, mistakes)
    if (read === 'unclear') unclear.add(name)
    else if (read !== 'disabled') list.push(read)
  }
  list.push(...readEngines(engines, list, mistakes))
  refuseSameAddress(list, mistakes)
  return { list, unclear }
}

/** Adds the accounts that operators declared while the service runs. */
export function addDeclaredAccounts(
  declared: NonNullable<FileSettings['accounts']>,
  configured: readonly AccountConfig[],
  members: Members,
  mistakes: Mistakes,
): Accounts {
  const list = [...configured]
  const unclear = new Set<string>()
  for (const [name, settings = {}] of Object.entries(declared)) {
    const where = placeIn('accounts', name)
    const { provider = name } = settings
    if (Object.hasOwn(members, provider) && members[provider]?.needsNothing) {
      const fix = 'it is part of each process; set it up in filmgate.yaml'
      mistakes.add(`${where}.provider`, `'${provider}' has no accounts that can be added`, fix)
    }
    const read = readAccount(name, settings, { members, machine: { cores: 1, env: null } }, mistakes)
    if (read === 'unclear') unclear.add(name)
    else if (read !== 'disabled') list.push({ ...read, source: 'store' })
  }
  refuseSameAddress(list, mistakes)
  return { list, unclear }
}

interface Surroundings {
  members: Members
  machine: Machine
}

function readAccount(
  name: string,
  settings: AccountSettings,
  { members, machine }: Surroundings,
  mistakes: Mistakes,
): AccountConfig | 'disabled' | 'unclear' {
  const where = placeIn('accounts', name)
  const { enabled = true, provider = name, ...options } = settings
  const isKnown = Object.hasOwn(members, provider) && !mistakes.isRefused(`${where}.provider`)
  const member = isKnown ? members[provider] : undefined
  if (!member) {
    const known = `use one of: ${Object.keys(members).join(', ')}`
    mistakes.addUnknown(`${where}.provider`, provider, known, (quoted) => `there is no provider ${quoted}`)
  }
  // The options of a disabled account have no effect, so their mistakes don't matter.
  for (const option of enabled ? [] : ['concurrency', 'on_unknown', 'verify', 'base_url', 'key'])
    mistakes.forget(`${where}.${option}`)
  if (!enabled) return 'disabled'
  const read = readOptions(where, options, member, machine, mistakes)
  return member ? { name, provider, ...read } : 'unclear'
}

/** `member` is undefined for an unknown provider: then only the common checks apply. */
function readOptions(
  where: string,
  options: AccountSettings,
  member: Member | undefined,
  { cores, env }: Machine,
  mistakes: Mistakes,
): Omit<AccountConfig, 'name' | 'provider'> {
  const { concurrency = member?.needsNothing ? cores : 4, on_unknown: onUnknown = 'hold', verify } = options
  const own = (name: 'base_url' | 'key') => {
    if (!member?.needsNothing) return options[name]?.trimEnd()
    if (options[name] !== undefined || mistakes.isRefused(`${where}.${name}`))
      mistakes.add(`${where}.${name}`, 'this provider does not use it', 'leave it out')
    return undefined
  }
  const baseUrl = own('base_url') ?? member?.baseUrl ?? null
  if (baseUrl !== null) checkBase(`${where}.base_url`, baseUrl, 'https://api.example.com/v1', mistakes)
  else if (member && !member.needsNothing)
    mistakes.add(`${where}.base_url`, 'it is missing', 'write the address of the provider: https://…')
  // A key from a file ends in a line break, which `own` and `readKey` remove.
  const given = own('key')
  const key = given !== undefined && member?.key?.isFile ? onOneLine(given) : given
  const credential = key ?? readKey(where, member?.key, env, mistakes)
  if (credential !== null && !isPossibleSecret(credential))
    mistakes.add(`${where}.key`, "it can't be sent in a header", 'use printable ASCII, with no space at either end')
  return { concurrency, onUnknown, ...(verify && { verify }), baseUrl, credential }
}

/** The content of a vendor's key file, which has several lines. Other text stays as it is: a later check refuses it. */
function onOneLine(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

/** Whether the file has an account of this provider, under any name, even if it is disabled. */
function isNamed(map: NonNullable<FileSettings['accounts']>, provider: string): boolean {
  return Object.entries(map).some(([name, options]) => (options?.provider ?? name) === provider)
}

function isSet(key: KeyRule | undefined, env: Environment): boolean {
  return key !== undefined && (env[key.variable] ?? '').trim() !== ''
}

function readKey(where: string, key: KeyRule | undefined, env: Environment | null, mistakes: Mistakes): string | null {
  if (key === undefined) return null
  if (env === null) {
    mistakes.add(`${where}.key`, 'it is missing', 'send the key of the provider')
    return null
  }
  const text = (env[key.variable] ?? '').trim()
  if (text === '') mistakes.add(`${where}.key`, 'it is missing', `set ${key.variable}, or write it here`)
  else if (!key.isFile) return text
  else
    try {
      return JSON.stringify(JSON.parse(readFileSync(text, 'utf8')))
    } catch (error) {
      // The content is not shown: it may be a key.
      const why = codeOf(error) ?? 'it is not JSON'
      const fix = `set it to the path of the vendor's key file, or write ${where}: {enabled: false}`
      mistakes.add(key.variable, `'${text}' can't be read (${why})`, fix)
    }
  return null
}

function isBase(text: string, onError?: (message: string) => void): boolean {
  try {
    readBase(text)
    return true
  } catch (error) {
    onError?.(messageOf(error))
    return false
  }
}

function checkBase(where: string, text: string, example: string, mistakes: Mistakes): boolean {
  return isBase(text, (what) => mistakes.add(where, what, `write for example ${example}`))
}

/**
 * The operator's own servers with OpenAI's Videos API, such as vLLM-Omni and SGLang. The address is enough: they list
 * their models. The default concurrency is 1, because a GPU generates one video at a time.
 */
function readEngines(
  given: readonly EngineSettings[],
  accounts: readonly AccountConfig[],
  mistakes: Mistakes,
): AccountConfig[] {
  const engines = given.flatMap((engine, at) => readEngine(`engines[${at}]`, engine, mistakes))
  const names = [...accounts, ...engines].map(({ name }) => name)
  const repeated = engines.find(({ name }) => names.indexOf(name) < names.lastIndexOf(name))
  if (repeated)
    mistakes.add('engines', `'${repeated.name}' is the name of two accounts or engines`, 'give each its own name')
  return engines
}

function readEngine(where: string, options: EngineSettings, mistakes: Mistakes): AccountConfig[] {
  const { key, concurrency = 1, verify } = options
  const given = options.url?.trimEnd()
  const credential = key?.trimEnd() ?? null
  if (credential !== null && !isPossibleSecret(credential))
    mistakes.add(`${where}.key`, "it can't be sent in a header", 'use printable ASCII, or leave it out')
  if (given === undefined || !checkBase(`${where}.url`, given, 'http://127.0.0.1:8000', mistakes)) return []
  if (mistakes.isRefused(`${where}.name`)) return []
  const url = new URL(given)
  const { name = url.host.replace(/[^\w.-]+/g, '-') } = options
  // The API is below /v1, unless the address has a path.
  const baseUrl = url.pathname === '/' ? new URL('/v1', url).href : url.href
  const { on_unknown: onUnknown = defaultOnUnknown(baseUrl, credential) } = options
  return [{ name, provider: 'openai', concurrency, onUnknown, ...(verify && { verify }), baseUrl, credential }]
}

/**
 * An engine without a key on a private address costs GPU time, not money: a submit that its list does not show is
 * submitted again. A host name may resolve to any machine, except for `localhost`.
 */
function defaultOnUnknown(baseUrl: string, credential: string | null): OnUnknown {
  const { host } = readBase(baseUrl)
  return credential === null && (host === 'localhost' || isPrivate(host)) ? 'resubmit' : 'hold'
}

/**
 * Two accounts with the same address and key see each other's jobs in one list. Neither can recognise its own, and a
 * task could get the video of another.
 */
function refuseSameAddress(accounts: readonly AccountConfig[], mistakes: Mistakes): void {
  const engines = accounts.filter(({ provider, baseUrl }) => provider === 'openai' && isBase(baseUrl ?? ''))
  const addressOf = ({ baseUrl, credential }: AccountConfig) =>
    `${credential} ${readBase(baseUrl ?? '').below('/').url}`
  for (const [one, other] of Map.groupBy(engines, addressOf).values())
    if (one && other) {
      const what = `'${one.name}' and '${other.name}' have the same address and the same key`
      mistakes.add('accounts and engines', what, 'use one of them, with a higher concurrency')
    }
}
