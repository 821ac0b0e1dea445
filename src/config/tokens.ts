import { type Catalog, matchesModel } from '../core/catalog.ts'
import type { SpendCap } from '../core/spend.ts'
import { digestSecret, generatedNames, isPossibleSecret, type Token, type UnknownParameters } from '../core/token.ts'
import type { Mistakes } from './mistakes.ts'
import { readSpend } from './prices.ts'
import type { TokenSettings } from './schema.ts'

interface Given {
  where: string
  name: string
  secret: string
  kind: Token['kind']
  models: readonly string[]
  concurrency?: number
  rate?: number
  queued?: number
  storedBytes?: number
  spend?: readonly SpendCap[]
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

/** The tokens of the file, and those of the two settings. */
export function readTokens(
  entries: readonly TokenSettings[],
  { client, operator }: { client: Setting; operator: Setting },
  mistakes: Mistakes,
) {
  const given: Given[] = []
  const warnings: string[] = []
  const clash = client.where === 'FILMGATE_TOKEN' ? clashOf(client.text, entries) : undefined
  if (clash === 'name')
    warnings.push(
      `FILMGATE_TOKEN is not accepted by this service: tokens of filmgate.yaml has another token named '${generatedNames.client}'`,
    )
  if (client.text !== undefined && clash === undefined)
    given.push({ where: client.where, kind: 'client', name: generatedNames.client, secret: client.text, models: ['*'] })
  if (operator.text !== undefined)
    given.push({
      where: operator.where,
      kind: 'operator',
      name: generatedNames.operator,
      secret: operator.text,
      models: [],
    })
  for (const [at, entry] of entries.entries()) {
    const where = `tokens[${at}]`
    const { name, secret, models = ['*'], unknown_parameters: unknownParameters, spend, ...others } = entry
    const { stored_bytes: storedBytes, ...limits } = others
    if (name === undefined || secret === undefined || mistakes.isRefused(`${where}.models`)) continue
    const more = {
      ...(spend && { spend: readSpend(`${where}.spend`, spend, mistakes) }),
      ...(unknownParameters && { unknownParameters }),
      ...(storedBytes !== undefined && { storedBytes }),
    }
    given.push({ where, kind: 'client', name, secret, models, ...limits, ...more })
  }
  given.forEach((token, at) => {
    refuseRepeated(token, given.slice(0, at), mistakes)
  })
  warnings.push(...given.flatMap(warningOfLength))
  const tokens: Token[] = given.map(({ where: _, secret, ...token }) => ({ ...token, digest: digestSecret(secret) }))
  const patterns: Pattern[] = given.flatMap(({ where, models }) =>
    models.map((glob, at) => ({ where: `${where}.models[${at}]`, glob })),
  )
  return { tokens, patterns, warnings, acceptsGiven: clash !== 'name', secrets: given.map(({ secret }) => secret) }
}

/**
 * FILMGATE_TOKEN is also the variable of clients. A token that is set for the command line must not keep the service
 * from starting, so the file wins if it has the same secret or the same name.
 */
function clashOf(secret: string | undefined, entries: readonly TokenSettings[]): 'secret' | 'name' | undefined {
  if (secret === undefined) return undefined
  if (entries.some((entry) => entry.secret === secret)) return 'secret'
  return entries.some((entry) => entry.name === generatedNames.client) ? 'name' : undefined
}

function refuseRepeated({ where, name, secret }: Given, earlier: readonly Given[], mistakes: Mistakes): void {
  if (!isPossibleSecret(secret)) {
    mistakes.add(where, "the secret can't be sent in a header", 'use printable ASCII, with no space at either end')
  }
  if (earlier.some((other) => other.name === name)) {
    const repeated = (quoted: string) => `the name ${quoted} is used twice`
    mistakes.addUnknown(`${where}.name`, name, 'give each token its own name', repeated)
  } else if (earlier.some((other) => other.secret === secret)) {
    mistakes.add(where, 'the secret is used twice', 'give each token its own secret')
  }
}

/** A pattern without a model is probably a typo, but its account may also be disabled for now. */
export function warningsOfPatterns(patterns: readonly Pattern[], { entries }: Catalog, mistakes: Mistakes): string[] {
  return patterns.flatMap(({ where, glob }) => {
    if (glob === '*' || [...entries.values()].some((entry) => matchesModel(glob, entry))) return []
    return [`${where}: ${mistakes.quote(where, glob)} matches no model`]
  })
}

const fewestCharacters = 20

function warningOfLength({ where, secret }: Given): string[] {
  if (secret.length >= fewestCharacters) return []
  return [`${where}: the secret has fewer than ${fewestCharacters} characters; use a random one: openssl rand -hex 32`]
}
