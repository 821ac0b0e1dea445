import { type Catalog, matchesModel } from '../core/catalog.ts'
import { digestSecret, isPossibleSecret, type Token, type UnknownParameters } from '../core/token.ts'
import { isLimit, isRate, type Mistakes, mostAtOnce, mostPerMinute } from './mistakes.ts'

/** The names of the tokens that FILMGATE_TOKEN and FILMGATE_OPERATOR_TOKEN set, or that a start without them makes. */
export const defaultTokenName = 'default'
export const operatorTokenName = 'operator'

interface Given {
  where: string
  name: string
  secret: string
  kind: Token['kind']
  models: readonly string[]
  concurrency?: number
  rate?: number
  unknownParameters?: UnknownParameters
}

interface Pattern {
  where: string
  glob: string
}

interface Setting {
  where: string
  text: string | undefined
}

/** `tokens: [{name, secret, models: [globs], concurrency, rate, unknown_parameters}]`, and those of the two settings. */
export function readTokens(listed: unknown, settings: { client: Setting; operator: Setting }, mistakes: Mistakes) {
  const given: Given[] = []
  const warnings: string[] = []
  const { client, operator } = settings
  const entries = Array.isArray(listed) ? listed : []
  const clash = client.where === 'FILMGATE_TOKEN' ? clashOf(client.text, entries) : undefined
  if (clash === 'name')
    warnings.push(`FILMGATE_TOKEN is not accepted by this service: tokens has another one named '${defaultTokenName}'`)
  if (client.text !== undefined && clash === undefined)
    given.push({ where: client.where, kind: 'client', name: defaultTokenName, secret: client.text, models: ['*'] })
  if (operator.text !== undefined)
    given.push({ where: operator.where, kind: 'operator', name: operatorTokenName, secret: operator.text, models: [] })
  if (listed !== undefined && listed !== null && !Array.isArray(listed)) {
    mistakes.add('tokens', 'it is not a list', 'write "- name: …" lines below it')
  }
  for (const [at, value] of entries.entries()) {
    const token = readToken(`tokens[${at}]`, value, mistakes)
    if (token) given.push(token)
  }
  given.forEach((token, at) => {
    refuseRepeated(token, given.slice(0, at), mistakes)
  })
  const tokens: Token[] = given.map(({ where: _, secret, ...token }) => ({ ...token, digest: digestSecret(secret) }))
  const patterns: Pattern[] = given.flatMap(({ where, models }) =>
    models.map((glob, at) => ({ where: `${where}.models[${at}]`, glob })),
  )
  return { tokens, patterns, warnings, takesGiven: clash !== 'name', secrets: given.map(({ secret }) => secret) }
}

/**
 * The variable is also where a client keeps its own token. One that is exported for the command line must not keep the
 * service from starting: what the file says of that token, or of that name, holds.
 */
function clashOf(secret: string | undefined, entries: readonly unknown[]): 'secret' | 'name' | undefined {
  const has = (key: string, value: unknown) =>
    entries.some((entry) => (entry as Record<string, unknown> | null)?.[key] === value)
  if (secret === undefined) return undefined
  if (has('secret', secret)) return 'secret'
  return has('name', defaultTokenName) ? 'name' : undefined
}

function readToken(where: string, value: unknown, mistakes: Mistakes): Given | undefined {
  const entry = mistakes.mapAt(where, value)
  mistakes.keysOf(where, entry, ['name', 'secret', 'models', 'concurrency', 'rate', 'unknown_parameters'])
  const { name, secret, models = ['*'], concurrency, rate, unknown_parameters: unknown } = entry
  const named = typeof name === 'string' && /^[\w .@-]{1,100}$/.test(name)
  const secretive = typeof secret === 'string' && secret !== ''
  const globs = Array.isArray(models) && models.every((glob): glob is string => typeof glob === 'string')
  if (!named) mistakes.add(`${where}.name`, 'it is no name', 'use up to 100 letters, digits, spaces or . _ @ -')
  if (!secretive) mistakes.add(`${where}.secret`, 'it is no text', 'write in quotes what the client will send')
  if (!globs) mistakes.add(`${where}.models`, 'it is not a list of names', 'write for example ["studio", "kling-*"]')
  if (concurrency !== undefined && !isLimit(concurrency)) {
    const what = `it is not a whole number from 1 to ${mostAtOnce}`
    mistakes.add(`${where}.concurrency`, what, 'leave it out for no limit')
  }
  if (rate !== undefined && !isRate(rate)) {
    const what = `it is not a whole number of videos a minute, up to ${mostPerMinute}`
    mistakes.add(`${where}.rate`, what, 'use 0 for no limit, or leave it out for FILMGATE_RATE')
  }
  if (unknown !== undefined && unknown !== 'refuse' && unknown !== 'warn')
    mistakes.add(`${where}.unknown_parameters`, 'it is neither of its values', 'use refuse or warn')
  if (!named || !secretive || !globs) return undefined
  const limits = {
    ...(concurrency === undefined ? {} : { concurrency: concurrency as number }),
    ...(rate === undefined ? {} : { rate: rate as number }),
    ...(unknown === undefined ? {} : { unknownParameters: unknown as UnknownParameters }),
  }
  return { where, kind: 'client', name, secret, models, ...limits }
}

function refuseRepeated({ where, name, secret }: Given, earlier: readonly Given[], mistakes: Mistakes): void {
  if (!isPossibleSecret(secret)) {
    mistakes.add(where, "the secret can't be sent in a header", 'use printable ASCII, with no space at either end')
  }
  if (earlier.some((other) => other.name === name)) {
    const taken = (quoted: string) => `the name ${quoted} is taken`
    mistakes.addUnknown(`${where}.name`, name, 'give each token its own name', taken)
  } else if (earlier.some((other) => other.secret === secret)) {
    mistakes.add(where, 'the secret is used twice', 'give each token its own')
  }
}

/** A pattern that fits no model is most likely a typo; but the account of those it was for may be off for now. */
export function unfitting(patterns: readonly Pattern[], { entries }: Catalog, mistakes: Mistakes): string[] {
  return patterns.flatMap(({ where, glob }) => {
    if (glob === '*' || [...entries.values()].some((entry) => matchesModel(glob, entry))) return []
    return [`${where}: ${mistakes.quote(where, glob)} fits no model`]
  })
}
