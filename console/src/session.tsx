import { useQuery } from '@tanstack/react-query'
import { createContext, use } from 'react'
import type { ConsoleSession, ConsoleState } from '../../src/wire/console.ts'
import { call, endPerson, isOfApi, queries, resumeRequests, sessionPath } from './api.ts'
import { probeMs } from './connection.ts'

/** What someone who is signed in may do. A page shows no action that would be refused. */
export type Action =
  /** Reads `/operator/v1`: everything of everyone. */
  | 'see all'
  /** Changes things through `/operator/v1`. */
  | 'operate'
  /** Uses `/v1`: creates and deletes videos of their own. */
  | 'create'

export function may({ kind, role, client }: ConsoleSession, action: Action): boolean {
  if (action === 'create') return client !== null
  return kind === 'operator' && (action === 'see all' || role !== 'viewer')
}

/** As the page knows it. */
interface PageState extends ConsoleState {
  /** Whether someone has signed out here, rather than elsewhere. */
  hasSignedOut?: boolean
}

queries.setQueryDefaults([sessionPath], {
  queryFn: async ({ signal }): Promise<PageState> =>
    accept(await call<ConsoleState>(sessionPath, { signal, timeoutMs: probeMs })),
})

export function useConsoleState() {
  return useQuery<PageState>({ queryKey: [sessionPath], staleTime: 60_000 })
}

/** The same, read again and again: the frame notices a service that does not respond, and a session that ends elsewhere. */
export function useProbedState() {
  return useQuery<PageState>({ queryKey: [sessionPath], staleTime: probeMs, refetchInterval: probeMs })
}

/** Whether someone is signed in, as far as this page knows. */
export function hasSession(): boolean {
  return Boolean(queries.getQueryData<PageState>([sessionPath])?.session)
}

/** What a page depends on. Those who sign in again find it as it was; for others it begins anew. */
export function personOf({ kind, name, role, project, client }: ConsoleSession): string {
  return JSON.stringify([kind, name, role, project, client])
}

/** Whose results the cache has, and whether their session has ended. */
let [person, hasEnded]: [string | null, boolean] = [null, false]

function accept(state: ConsoleState): ConsoleState {
  if (!state.session) {
    hasEnded = person !== null
    return state
  }
  const next = personOf(state.session)
  if (person !== null && person !== next) forget()
  else if (hasEnded) void queries.invalidateQueries({ predicate: isOfApi }, { cancelRefetch: false })
  person = next
  hasEnded = false
  resumeRequests()
  return state
}

/** Nothing of a person is sent or shown for the next one. */
function forget(): void {
  endPerson()
  queries.removeQueries({ predicate: isOfApi })
}

/** The address of `/v1`, for samples. At the port of the operators' routes it is another one. */
export function useClientUrl(): string {
  const { data: state } = useConsoleState()
  return !state || state.serves_clients ? location.origin : (state.client_url ?? 'https://YOUR_ADDRESS')
}

export const SessionContext = createContext<ConsoleSession | null>(null)

/** Who is signed in. Only for what the frame shows: without a session there is only the form. */
export function useSession(): ConsoleSession {
  const session = use(SessionContext)
  if (!session) throw new Error('there is no session')
  return session
}

export function useMay(): (action: Action) => boolean {
  const session = useSession()
  return (action) => may(session, action)
}

export async function signIn(given: { token: string } | { code: string }): Promise<void> {
  const state = await call<ConsoleState>(sessionPath, { method: 'POST', body: given })
  // A response to an earlier question would say that no session exists.
  await queries.cancelQueries({ queryKey: [sessionPath] })
  queries.setQueryData<PageState>([sessionPath], accept(state))
}

export async function signOut(): Promise<void> {
  const state = await call<ConsoleState>(sessionPath, { method: 'DELETE' })
  await queries.cancelQueries({ queryKey: [sessionPath] })
  person = null
  queries.setQueryData<PageState>([sessionPath], { ...accept(state), hasSignedOut: true })
  forget()
}

/** The code of a link. It leaves the address, and so the history, before the router or anything else reads that. */
export const linkCode = takeCode()
// A link that is opened while this page is at the same path only changes the fragment.
addEventListener('hashchange', () => location.hash.startsWith('#code=') && location.reload())

function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}
