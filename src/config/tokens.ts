import { digestSecret, isPossibleSecret, type Token } from '../core/token.ts'
import type { Mistakes } from './mistakes.ts'

/** The name of the token that FILMGATE_TOKEN sets, or that a start without any token makes. */
export const defaultTokenName = 'default'

interface Given {
  where: string
  name: string
  secret: string
  models: readonly string[]
}

/** `tokens: [{name, secret, models: [globs]}]`, and FILMGATE_TOKEN as one more. */
export function readTokens(listed: unknown, setting: { where: string; text: string | undefined }, mistakes: Mistakes) {
  const given: Given[] = []
  if (setting.text !== undefined) {
    given.push({ where: setting.where, name: defaultTokenName, secret: setting.text, models: ['*'] })
  }
  if (listed !== undefined && listed !== null && !Array.isArray(listed)) {
    mistakes.add('tokens', 'it is not a list', 'write "- name: …" lines below it')
  }
  for (const [at, value] of (Array.isArray(listed) ? listed : []).entries()) {
    const token = readToken(`tokens[${at}]`, value, mistakes)
    if (token) given.push(token)
  }
  given.forEach((token, at) => {
    refuseRepeated(token, given.slice(0, at), mistakes)
  })
  const tokens: Token[] = given.map(({ name, secret, models }) => ({ name, digest: digestSecret(secret), models }))
  return { tokens, secrets: given.map(({ secret }) => secret) }
}

function readToken(where: string, value: unknown, mistakes: Mistakes): Given | undefined {
  const entry = mistakes.mapAt(where, value)
  mistakes.keysOf(where, entry, ['name', 'secret', 'models'])
  const { name, secret, models = ['*'] } = entry
  const named = typeof name === 'string' && /^[\w .@-]{1,100}$/.test(name)
  const secretive = typeof secret === 'string' && secret !== ''
  const globs = Array.isArray(models) && models.every((glob): glob is string => typeof glob === 'string')
  if (!named) mistakes.add(`${where}.name`, 'it is no name', 'use up to 100 letters, digits, spaces or . _ @ -')
  if (!secretive) mistakes.add(`${where}.secret`, 'it is no text', 'write in quotes what the client will send')
  if (!globs) mistakes.add(`${where}.models`, 'it is not a list of names', 'write for example ["studio", "kling-*"]')
  return named && secretive && globs ? { where, name, secret, models } : undefined
}

function refuseRepeated({ where, name, secret }: Given, earlier: readonly Given[], mistakes: Mistakes): void {
  if (!isPossibleSecret(secret)) {
    mistakes.add(where, "the secret can't be sent in a header", 'use printable ASCII, with no space at either end')
  }
  if (earlier.some((other) => other.name === name)) {
    mistakes.add(where, `the name '${name}' is taken`, 'give each token its own name')
  } else if (earlier.some((other) => other.secret === secret)) {
    mistakes.add(where, 'the secret is used twice', 'give each token its own')
  }
}
