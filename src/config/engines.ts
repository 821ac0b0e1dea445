import type { OnUnknown } from '../core/attempt.ts'
import { isPossibleSecret } from '../core/token.ts'
import { isPrivate, readBase } from '../outbound.ts'
import { type AccountConfig, readOnUnknown } from './accounts.ts'
import { isLimit, type Mistakes, mostAtOnce } from './mistakes.ts'

/**
 * `engines: [{url, name, key, concurrency, on_unknown}]`: servers of one's own that speak OpenAI's Videos API, such as
 * vLLM-Omni and SGLang. The address is enough: their models are read from them. A GPU generates one video at a time unless
 * the entry says otherwise.
 */
export function readEngines(given: unknown, others: readonly string[], mistakes: Mistakes): AccountConfig[] {
  if (given === undefined || given === null) return []
  if (!Array.isArray(given)) {
    mistakes.add('engines', 'it is not a list', 'write for example [{url: http://127.0.0.1:8000}]')
    return []
  }
  const engines = given.flatMap((value, at) => readEngine(`engines[${at}]`, value, mistakes))
  const names = [...others, ...engines.map(({ name }) => name)]
  const twice = engines.find(({ name }) => names.indexOf(name) < names.lastIndexOf(name))
  if (twice) mistakes.add('engines', `'${twice.name}' is the name of two`, 'give each a name of its own')
  return engines
}

/**
 * What one account sends there, the other finds in the same list: neither knows what belongs to the other, and a task
 * could go on with the video of another.
 */
export function refuseSharedPlaces(accounts: readonly AccountConfig[], mistakes: Mistakes): void {
  const engines = accounts.filter(({ provider, baseUrl }) => provider === 'openai' && isBase(baseUrl))
  const places = Map.groupBy(
    engines,
    ({ baseUrl, credential }) => `${credential} ${readBase(baseUrl ?? '').below('/').url}`,
  )
  for (const [one, other] of places.values())
    if (one && other) {
      const what = `'${one.name}' and '${other.name}' are the same place with the same key`
      mistakes.add('accounts and engines', what, 'use one of them, with a higher concurrency')
    }
}

function isBase(text: string | null): boolean {
  try {
    readBase(text ?? '')
    return true
  } catch {
    return false
  }
}

function readEngine(where: string, value: unknown, mistakes: Mistakes): AccountConfig[] {
  const options = mistakes.mapAt(where, value)
  mistakes.keysOf(where, options, ['url', 'name', 'key', 'concurrency', 'on_unknown'])
  const { url, concurrency = 1, key = null } = options
  const baseUrl = readUrl(`${where}.url`, url, mistakes)
  const onUnknown = readOnUnknown(where, options, mistakes, defaultOnUnknown(baseUrl, key))
  if (!isLimit(concurrency))
    mistakes.add(`${where}.concurrency`, `it is not a whole number from 1 to ${mostAtOnce}`, 'leave it out for 1')
  if (key !== null && (typeof key !== 'string' || !isPossibleSecret(key.trimEnd())))
    mistakes.add(`${where}.key`, "it can't be sent in a header", 'use printable ASCII, or leave it out')
  if (baseUrl === undefined) return []
  const { host } = new URL(baseUrl)
  const { name = host.replace(/[^\w.-]+/g, '-') } = options
  if (typeof name !== 'string' || !/^(?!\.+$)[\w.-]{1,100}$/.test(name)) {
    mistakes.add(`${where}.name`, 'it is no name', 'use letters, digits and . _ -')
    return []
  }
  const credential = typeof key === 'string' ? key.trimEnd() : null
  const rest = { concurrency: concurrency as number, onUnknown, baseUrl, credential }
  return [{ name, provider: 'openai', ...rest }]
}

/**
 * An engine without a key on one's own network costs GPU time, not money: what its list shows it never got is submitted
 * again. A name may be anybody's, except for `localhost`.
 */
function defaultOnUnknown(baseUrl: string | undefined, key: unknown): OnUnknown {
  if (baseUrl === undefined || key !== null) return 'hold'
  const { host } = readBase(baseUrl)
  return host === 'localhost' || isPrivate(host) ? 'resubmit' : 'hold'
}

/** The API lies below /v1, unless another path is named. */
function readUrl(where: string, given: unknown, mistakes: Mistakes): string | undefined {
  if (typeof given !== 'string' || given === '') {
    mistakes.add(where, 'it is missing', 'say where the engine is: http://127.0.0.1:8000')
    return undefined
  }
  try {
    readBase(given)
  } catch (error) {
    mistakes.add(where, (error as Error).message, 'write for example http://127.0.0.1:8000')
    return undefined
  }
  const url = new URL(given)
  return url.pathname === '/' ? new URL('/v1', url).href : url.href
}
