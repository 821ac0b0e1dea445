import { readFileSync } from 'node:fs'
import type { OnUnknown } from '../core/attempt.ts'
import { isPossibleSecret } from '../core/token.ts'
import { readBase } from '../outbound.ts'
import type { KeyRule, Member } from '../providers/index.ts'
import { isLimit, type Mistakes, mostAtOnce, placeIn } from './mistakes.ts'

/** A provider as the operator set it up. */
export interface AccountConfig {
  name: string
  provider: string
  concurrency: number
  onUnknown: OnUnknown
  baseUrl: string | null
  credential: string | null
}

type Members = Readonly<Record<string, Member>>

export interface Accounts {
  list: AccountConfig[]
  /** Those of which it is not known what they are: their mistake is reported, and no model on them is another. */
  unclear: ReadonlySet<string>
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * `accounts: {name: {provider, enabled, concurrency, on_unknown, base_url, key}}`. The provider is the name unless it is
 * said otherwise. One that needs nothing is there without being named, and so is one whose key is in the environment,
 * unless an account there is configured.
 */
export function readAccounts(
  given: unknown,
  members: Members,
  { cores, env }: { cores: number; env: Environment },
  mistakes: Mistakes,
): Accounts {
  const map = mistakes.mapAt('accounts', given)
  const free = Object.entries(members)
    .filter(([name, { needsNothing, key }]) =>
      Object.hasOwn(map, name) ? false : needsNothing || (isSet(key, env) && !isNamed(map, name)),
    )
    .map(([name]) => name)
  const list: AccountConfig[] = []
  const unclear = new Set<string>()
  for (const name of [...free, ...Object.keys(map)]) {
    const where = placeIn('accounts', name)
    const options = mistakes.mapAt(where, map[name])
    mistakes.keysOf(where, options, ['provider', 'enabled', 'concurrency', 'on_unknown', 'base_url', 'key'])
    const { enabled = true, provider = name } = options
    const member = typeof provider === 'string' && Object.hasOwn(members, provider) ? members[provider] : undefined
    // It is the name of a folder as well.
    if (!/^(?!\.+$)[\w.-]{1,100}$/.test(name)) mistakes.add(where, 'it is no name', 'use letters, digits and . _ -')
    if (typeof enabled !== 'boolean')
      mistakes.add(`${where}.enabled`, 'it is neither true nor false', 'write true or false')
    if (!member) {
      const known = `use one of: ${Object.keys(members).join(', ')}`
      mistakes.addUnknown(`${where}.provider`, provider, known, (quoted) => `there is no provider ${quoted}`)
    }
    if (enabled === false) continue
    const read = readOptions(where, options, member, { cores, env }, mistakes)
    if (member) list.push({ name, provider: String(provider), ...read })
    else unclear.add(name)
  }
  return { list, unclear }
}

/** Without a member only what holds for all of them is checked. */
function readOptions(
  where: string,
  options: Record<string, unknown>,
  member: Member | undefined,
  { cores, env }: { cores: number; env: Environment },
  mistakes: Mistakes,
): Omit<AccountConfig, 'name' | 'provider'> {
  const { concurrency = member?.needsNothing ? cores : 4 } = options
  if (!isLimit(concurrency)) {
    const fix = 'say how many tasks may be in work at once'
    mistakes.add(`${where}.concurrency`, `it is not a whole number from 1 to ${mostAtOnce}`, fix)
  }
  const onUnknown = readOnUnknown(where, options, mistakes)
  const baseUrl = readOwn(where, 'base_url', options.base_url, member, mistakes) ?? member?.baseUrl ?? null
  if (baseUrl !== null) checkAddress(`${where}.base_url`, baseUrl, mistakes)
  else if (member && !member.needsNothing && options.base_url === undefined)
    mistakes.add(`${where}.base_url`, 'it is missing', 'say where the provider is: https://…')
  const written = readOwn(where, 'key', options.key, member, mistakes)
  const credential = written ?? readKey(where, member?.key, env, mistakes)
  if (credential !== null && !isPossibleSecret(credential))
    mistakes.add(`${where}.key`, "it can't be sent in a header", 'use printable ASCII, with no space at either end')
  return { concurrency: concurrency as number, onUnknown, baseUrl, credential }
}

export function readOnUnknown(
  where: string,
  options: Record<string, unknown>,
  mistakes: Mistakes,
  usual: OnUnknown = 'hold',
): OnUnknown {
  const { on_unknown: given = usual } = options
  if (given === 'hold' || given === 'fail' || given === 'resubmit') return given
  const fix = 'use hold, fail or resubmit'
  mistakes.addUnknown(`${where}.on_unknown`, given, fix, (quoted) => `${quoted} means nothing`)
  return usual
}

/** The text of an option that only providers on the network have, or null. */
function readOwn(
  where: string,
  name: 'base_url' | 'key',
  value: unknown,
  member: Member | undefined,
  mistakes: Mistakes,
): string | null {
  if (value === undefined) return null
  if (member?.needsNothing) mistakes.add(`${where}.${name}`, 'this provider has none', 'leave it out')
  // A secret that was read from a file ends in a line break.
  else if (typeof value === 'string' && value.trimEnd() !== '') return value.trimEnd()
  else mistakes.add(`${where}.${name}`, 'it is no text', 'write it in quotes')
  return null
}

/** An account of it is configured, whatever its name is, or one is switched off. */
function isNamed(map: Record<string, unknown>, provider: string): boolean {
  const providerOf = ([name, options]: [string, unknown]) =>
    (options as { provider?: unknown } | null)?.provider ?? name
  return Object.entries(map).some((entry) => providerOf(entry) === provider)
}

function isSet(key: KeyRule | undefined, env: Environment): boolean {
  return key !== undefined && (env[key.variable] ?? '').trim() !== ''
}

function readKey(where: string, key: KeyRule | undefined, env: Environment, mistakes: Mistakes): string | null {
  if (key === undefined) return null
  const text = (env[key.variable] ?? '').trim()
  if (text === '') mistakes.add(`${where}.key`, 'it is missing', `set ${key.variable}, or write it here`)
  else if (!key.isFile) return text
  else
    try {
      return JSON.stringify(JSON.parse(readFileSync(text, 'utf8')))
    } catch (error) {
      // Of a file that is no JSON nothing is quoted: it may be a key.
      const why = (error as NodeJS.ErrnoException).code ?? 'it is no JSON'
      const fix = `name the file that the vendor gave you, or write ${where}: {enabled: false}`
      mistakes.add(key.variable, `'${text}' can't be read (${why})`, fix)
    }
  return null
}

function checkAddress(where: string, text: string, mistakes: Mistakes): void {
  try {
    readBase(text)
  } catch (error) {
    mistakes.add(where, (error as Error).message, 'write for example https://api.example.com/v1')
  }
}
