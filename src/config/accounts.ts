import type { OnUnknown } from '../core/attempt.ts'
import { isPossibleSecret } from '../core/token.ts'
import { readBase } from '../outbound.ts'
import type { Member } from '../providers/index.ts'
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

/**
 * `accounts: {name: {provider, enabled, concurrency, on_unknown, base_url, key}}`. The provider is the name unless it is
 * said otherwise. One that needs nothing is there without being named.
 */
export function readAccounts(given: unknown, members: Members, cores: number, mistakes: Mistakes): Accounts {
  const map = mistakes.mapAt('accounts', given)
  const free = Object.keys(members).filter((name) => members[name]?.needsNothing && !Object.hasOwn(map, name))
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
    const read = readOptions(where, options, member, cores, mistakes)
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
  cores: number,
  mistakes: Mistakes,
): Omit<AccountConfig, 'name' | 'provider'> {
  const { concurrency = member?.needsNothing ? cores : 4, on_unknown: onUnknown = 'hold' } = options
  if (!isLimit(concurrency)) {
    const fix = 'say how many tasks may be in work at once'
    mistakes.add(`${where}.concurrency`, `it is not a whole number from 1 to ${mostAtOnce}`, fix)
  }
  if (typeof onUnknown !== 'string' || !['hold', 'fail', 'resubmit'].includes(onUnknown)) {
    const fix = 'use hold, fail or resubmit'
    mistakes.addUnknown(`${where}.on_unknown`, onUnknown, fix, (quoted) => `${quoted} means nothing`)
  }
  const baseUrl = readOwn(where, 'base_url', options.base_url, member, mistakes)
  if (baseUrl !== null) checkAddress(`${where}.base_url`, baseUrl, mistakes)
  else if (member && !member.needsNothing && options.base_url === undefined)
    mistakes.add(`${where}.base_url`, 'it is missing', 'say where the provider is: https://…')
  const credential = readOwn(where, 'key', options.key, member, mistakes)
  if (credential !== null && !isPossibleSecret(credential))
    mistakes.add(`${where}.key`, "it can't be sent in a header", 'use printable ASCII, with no space at either end')
  return { concurrency: concurrency as number, onUnknown: onUnknown as OnUnknown, baseUrl, credential }
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

function checkAddress(where: string, text: string, mistakes: Mistakes): void {
  try {
    readBase(text)
  } catch (error) {
    mistakes.add(where, (error as Error).message, 'write for example https://api.example.com/v1')
  }
}
