import { digestSecret, isPossibleSecret, type Token } from '../core/token.ts'
import type { Mistakes } from './mistakes.ts'

/** The name of the token that FILMGATE_TOKEN sets, or that the very first start makes. */
export const defaultTokenName = 'default'

/** `tokens: [{name, secret, models: [globs]}]`, and FILMGATE_TOKEN as one more. */
export function readTokens(listed: unknown, given: { where: string; text: string | undefined }, mistakes: Mistakes) {
  const tokens: Token[] = []
  const secrets: string[] = []
  const add = (where: string, name: string, secret: string, models: readonly string[]) => {
    if (!isPossibleSecret(secret)) {
      mistakes.add(where, "the secret can't be sent in a header", 'use printable ASCII, with no space at either end')
    }
    const digest = digestSecret(secret)
    if (tokens.some((token) => token.name === name))
      mistakes.add(where, `the name '${name}' is taken`, 'give each token its own name')
    else if (tokens.some((token) => token.digest === digest))
      mistakes.add(where, 'the secret is used twice', 'give each token its own')
    tokens.push({ name, digest, models })
    secrets.push(secret)
  }
  if (given.text !== undefined) add(given.where, defaultTokenName, given.text, ['*'])
  if (listed !== undefined && listed !== null && !Array.isArray(listed)) {
    mistakes.add('tokens', 'it is not a list', 'write "- name: …" lines below it')
    return { tokens, secrets }
  }
  for (const [at, value] of (Array.isArray(listed) ? listed : []).entries()) {
    const where = `tokens[${at}]`
    const entry = mistakes.mapAt(where, value)
    mistakes.keysOf(where, entry, ['name', 'secret', 'models'])
    const { name, secret, models = ['*'] } = entry
    const named = typeof name === 'string' && /^[\w .@-]{1,100}$/.test(name)
    const isSecret = typeof secret === 'string' && secret.length > 0
    const globs =
      Array.isArray(models) && models.every((glob): glob is string => typeof glob === 'string') ? models : undefined
    if (!named) mistakes.add(`${where}.name`, 'a name is missing', 'use up to 100 letters, digits, spaces or . _ @ -')
    if (!isSecret)
      mistakes.add(`${where}.secret`, 'a secret is missing', 'write the text that the client will send, in quotes')
    if (!globs) mistakes.add(`${where}.models`, 'it is not a list of names', 'write for example ["studio", "kling-*"]')
    if (named && isSecret && globs) add(`${where}.secret`, name, secret, globs)
  }
  return { tokens, secrets }
}
