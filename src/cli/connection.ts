import { UsageFailure } from './failure.ts'

/** Where the Videos API is and how to be let in. */
export interface Connection {
  /** Ends in no slash. */
  baseUrl: string
  token: string
  /** For the message when the server refuses it. */
  tokenSource: string
}

export const connectionOptions = {
  'base-url': { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const connectionHelp = `Connection:
  --base-url URL      else FILMGATE_BASE_URL, else OPENAI_BASE_URL,
                      else http://127.0.0.1:8484/v1
  --token TOKEN       else FILMGATE_TOKEN, else OPENAI_API_KEY
`

export const standardUrl = 'http://127.0.0.1:8484/v1'

/**
 * Flags, then FILMGATE_*, then OPENAI_*. A token of ours never goes to a server that only OPENAI_BASE_URL names: that
 * variable is often there for other programs.
 */
export function findConnection(
  flags: { 'base-url'?: string; token?: string },
  env: Readonly<Record<string, string | undefined>>,
): Connection {
  const token = [
    ['--token', flags.token],
    ['FILMGATE_TOKEN', env.FILMGATE_TOKEN],
    ['OPENAI_API_KEY', env.OPENAI_API_KEY],
  ].find((pair): pair is [string, string] => Boolean(pair[1]))
  if (!token) {
    throw new UsageFailure(
      'no token is set',
      `Set the one that the server printed at its first start:\n  export FILMGATE_TOKEN=fg_…\nor give it with --token. (A server that wants none takes any: --token none.)`,
    )
  }
  const [tokenSource, secret] = token
  // A header can't carry these, and fetch would say so less kindly.
  if (!/^[\x20-\x7e\x80-\xff]+$/.test(secret)) {
    throw new UsageFailure(`the token of ${tokenSource} has characters that no header can carry; was it copied whole?`)
  }
  const elsewhere = tokenSource === 'FILMGATE_TOKEN' ? undefined : env.OPENAI_BASE_URL
  const baseUrl = flags['base-url'] || env.FILMGATE_BASE_URL || elsewhere || standardUrl
  return { baseUrl: normalise(baseUrl), token: secret.trim(), tokenSource }
}

/** A base URL without a path gets /v1; a scheme that was left out is guessed. */
function normalise(text: string): string {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `${isLocal(text) ? 'http' : 'https'}://${text}`)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageFailure(`'${text}' is no base URL; write for example http://127.0.0.1:8484/v1`)
  }
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path === '' ? '/v1' : path}`
}

function isLocal(text: string): boolean {
  return /^(localhost|127\.|\[::1\]|0\.0\.0\.0)/.test(text)
}
