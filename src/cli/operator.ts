import { type Filmgate, openFilmgate } from './client/filmgate.ts'
import { findConnection } from './connection.ts'
import { UsageFailure } from './failure.ts'
import type { Terminal } from './terminal.ts'

/** The operator's side of a Filmgate. */
export type Operator = Filmgate

export const operatorHelp = `Connection:
  --base-url URL      else FILMGATE_BASE_URL, else http://127.0.0.1:8484/v1
  --token TOKEN       else FILMGATE_OPERATOR_TOKEN
`

export function openOperator(flags: { 'base-url'?: string; token?: string }, { env }: Pick<Terminal, 'env'>): Operator {
  return openFilmgate(findOperator(flags, env))
}

/** The base URL is that of the Videos API, so that one variable serves all commands: this is its neighbour. */
function findOperator(flags: { 'base-url'?: string; token?: string }, env: Terminal['env']) {
  const tokenSource = flags.token ? '--token' : 'FILMGATE_OPERATOR_TOKEN'
  const token = flags.token || env.FILMGATE_OPERATOR_TOKEN
  if (!token) {
    throw new UsageFailure(
      "the operator's token is not set",
      'Set the one that the server printed at its first start:\n  export FILMGATE_OPERATOR_TOKEN=fg_…\nor give it with --token. (Lost it? Start the server with one of your own in that variable.)',
    )
  }
  const found = findConnection({ ...flags, token }, { FILMGATE_BASE_URL: env.FILMGATE_BASE_URL })
  return { ...found, tokenSource, baseUrl: `${found.baseUrl.replace(/(\/operator)?\/v1$/, '')}/operator/v1` }
}
