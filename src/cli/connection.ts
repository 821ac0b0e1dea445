import { UsageFailure } from './failure.ts'

/** The address of the Videos API, and the token for it. */
export interface Connection {
  /** Without a slash at the end. */
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
 * Flags, then FILMGATE_*, then OPENAI_*. FILMGATE_TOKEN is never sent to a server that only OPENAI_BASE_URL names:
 * that variable is often set for other programs.
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
      `Set the token that the server printed at its first start:\n  export FILMGATE_TOKEN=fg_…\nor use --token. (A server without tokens accepts any: --token none.)`,
    )
  }
  const [tokenSource, secret] = token
  // A header can't have other characters, and the message of fetch is less clear.
  if (!/^[\x20-\x7e\x80-\xff]+$/.test(secret)) {
    throw new UsageFailure(`the token of ${tokenSource} has characters that can't be sent in a header; copy it again`)
  }
  const elsewhere = tokenSource === 'FILMGATE_TOKEN' ? undefined : env.OPENAI_BASE_URL
  const baseUrl = flags['base-url'] || env.FILMGATE_BASE_URL || elsewhere || standardUrl
  return { baseUrl: normalise(baseUrl), token: secret.trim(), tokenSource }
}

/** A base URL without a path gets /v1. A missing scheme is guessed. */
function normalise(text: string): string {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `${isLocal(text) ? 'http' : 'https'}://${text}`)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageFailure(`'${text}' is not a base URL; write for example http://127.0.0.1:8484/v1`)
  }
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path === '' ? '/v1' : path}`
}

function isLocal(text: string): boolean {
  return /^(localhost|127\.|\[::1\]|0\.0\.0\.0)/.test(text)
}
