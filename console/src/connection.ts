import { useSyncExternalStore } from 'react'
import { ApiError, isPassing, queries, sessionPath, Unavailable } from './api.ts'

/* Whether the service responds. What waits for it is known by the queries and the mutations, so nothing else is stored. */

/** How often a visible page reads its session, and how long it waits for that. So it notices a service that hangs. */
export const probeMs = 5_000

/** Reads the session now, unless that is under way: something else has failed. */
export function probe(): void {
  void queries.refetchQueries({ queryKey: [sessionPath] }, { cancelRefetch: false })
}

interface Trouble {
  /** In the words of the service; null if it does not respond. */
  reason: string | null
}

let current: Trouble | null = null

/** Why something is tried again. Null if nothing is. */
export function useTrouble(): Trouble | null {
  return useSyncExternalStore(subscribe, () => {
    const next = findTrouble()
    if (next?.reason !== current?.reason) current = next
    return current
  })
}

function subscribe(listener: () => void): () => void {
  const ends = [queries.getQueryCache().subscribe(listener), queries.getMutationCache().subscribe(listener)]
  return () => {
    for (const end of ends) end()
  }
}

/** Exported for its test. */
export function findTrouble(): Trouble | null {
  const running = queries.getQueryCache().findAll({ predicate: ({ state }) => state.fetchStatus !== 'idle' })
  // What is shown is older than it should be, until the next read.
  const old = queries.getQueryCache().findAll({ type: 'active', predicate: ({ state }) => state.data !== undefined })
  const sending = queries.getMutationCache().findAll({ status: 'pending' })
  const failures = [
    ...running.map(({ state }) => state.fetchFailureReason),
    ...sending.map(({ state }) => state.failureReason),
    ...old.map(({ state }) => state.error),
  ]
  const reasons = failures.flatMap((error) => {
    if (error instanceof Unavailable) return [error.reason]
    return error instanceof ApiError && isPassing(error) ? [error.message] : []
  })
  if (reasons.length === 0) return null
  // The words of the service say more.
  return { reason: reasons.find((reason) => reason !== null) ?? null }
}
