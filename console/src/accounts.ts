import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { OperatorAccountList } from '../../src/wire/accounts.ts'
import type { OperatorAlarm } from '../../src/wire/alarms.ts'
import { queries } from './api.ts'
import { rereadMs } from './status.ts'

/* Accounts at providers, as several pages show them. The operator API has no stream of events: they are read again. */

export const accountsPath = '/operator/v1/accounts'

export function accountPath(name: string): string {
  return `${accountsPath}/${encodeURIComponent(name)}`
}

export function useAccounts(): UseQueryResult<OperatorAccountList> {
  return useQuery<OperatorAccountList>({ queryKey: [accountsPath], refetchInterval: rereadMs })
}

/** A key that is refused, no credit, and an account that can't be reached. */
const accountAlarms: readonly OperatorAlarm['kind'][] = ['account_key', 'account_credit', 'circuit_open']

export function isAboutAccount({ kind }: OperatorAlarm): boolean {
  return accountAlarms.includes(kind)
}

/** After a change of an account, a model or an alias: accounts and models are read again. */
export function rereadRoutes(): Promise<void> {
  const parts = [accountsPath, '/operator/v1/status', '/operator/v1/models', '/v1/models']
  return queries.invalidateQueries({
    predicate: ({ queryKey: [path] }) => parts.some((part) => String(path).startsWith(part)),
  })
}

interface KnownProvider {
  /** What people call it, or its models. */
  name: string
  /** What an account of it can't be without. */
  needs: 'key' | 'address'
}

/** The built-in providers. The service may have others, of which only the id is known. */
const known: Readonly<Record<string, KnownProvider>> = {
  ark: { name: 'Seedance', needs: 'key' },
  fal: { name: 'fal.ai', needs: 'key' },
  google: { name: 'Gemini / Veo', needs: 'key' },
  kling: { name: 'Kling', needs: 'key' },
  replicate: { name: 'Replicate', needs: 'key' },
  vertex: { name: 'Vertex AI / Veo', needs: 'key' },
  openai: { name: 'vLLM, SGLang, Filmgate', needs: 'address' },
}

/** Its name, with the id that the rest of the service calls it by. */
export function providerLabel(id: string): string {
  const { name = id } = known[id] ?? {}
  return name.toLowerCase() === id ? name : `${name} (${id})`
}

export function needsOf(id: string): KnownProvider['needs'] | undefined {
  return known[id]?.needs
}
