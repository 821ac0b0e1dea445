import type { OnUnknown } from '../core/attempt.ts'
import type { Member } from '../providers/index.ts'
import type { Mistakes } from './mistakes.ts'

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

/**
 * `accounts: {name: {provider, enabled, concurrency, on_unknown, base_url, key}}`. The provider is the name unless it is
 * said otherwise. One that needs nothing is there without being named.
 */
export function readAccounts(given: unknown, members: Members, cores: number, mistakes: Mistakes): AccountConfig[] {
  const map = mistakes.mapAt('accounts', given)
  const free = Object.keys(members).filter((name) => members[name]?.needsNothing && !(name in map))
  return [...free, ...Object.keys(map)].flatMap((name) => {
    const where = `accounts.${name}`
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
      mistakes.add(`${where}.provider`, `there is no provider '${provider}'`, known)
    }
    if (!member || enabled !== true) return []
    return [{ name, provider: String(provider), ...readOptions(where, options, member, cores, mistakes) }]
  })
}

function readOptions(
  where: string,
  options: Record<string, unknown>,
  member: Member,
  cores: number,
  mistakes: Mistakes,
): Omit<AccountConfig, 'name' | 'provider'> {
  const { concurrency = member.needsNothing ? cores : 4, on_unknown: onUnknown = 'hold', base_url: url, key } = options
  if (!Number.isInteger(concurrency) || Number(concurrency) < 1 || Number(concurrency) > 100_000) {
    const fix = 'say how many tasks may be in work at once'
    mistakes.add(`${where}.concurrency`, 'it is not a whole number from 1 to 100000', fix)
  }
  if (!['hold', 'fail', 'resubmit'].includes(String(onUnknown)))
    mistakes.add(`${where}.on_unknown`, `'${onUnknown}' means nothing`, 'use hold, fail or resubmit')
  for (const [name, value] of [
    ['base_url', url],
    ['key', key],
  ] as const) {
    if (value === undefined) continue
    if (member.needsNothing) mistakes.add(`${where}.${name}`, 'this provider has none', 'leave it out')
    else if (typeof value !== 'string' || value === '')
      mistakes.add(`${where}.${name}`, 'it is no text', 'write it in quotes')
  }
  if (typeof url === 'string' && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    mistakes.add(`${where}.base_url`, 'it is no URL', 'write it with http:// or https://')
  return {
    concurrency: Number(concurrency),
    onUnknown: onUnknown as OnUnknown,
    baseUrl: typeof url === 'string' ? url : null,
    credential: typeof key === 'string' ? key : null,
  }
}
