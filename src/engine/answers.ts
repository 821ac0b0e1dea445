import { operationKey } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Entry } from '../stores/store.ts'
import type { EngineOptions } from './options.ts'

/**
 * Writes an entry whose fact may contradict an adoption. An operation that a provider answered to a submit beats one that
 * was adopted: the attempt that adopted it loses it. May be repeated as a whole after any failure. Throws `operation_taken`
 * where both attempts have a direct answer.
 */
export async function recordAnswer(
  { store, clock, log }: Pick<EngineOptions, 'store' | 'clock' | 'log'>,
  account: string,
  entry: Entry,
): Promise<boolean> {
  const { fact } = entry
  const isAnswer = fact !== undefined && fact.operation !== null && !fact.adopted
  if (!isAnswer) return store.record(entry)
  const { id: attempt, operation } = fact
  const disown = async (wrong: typeof operation) => {
    const loser = await store.disown(account, wrong, clock.now())
    log.error('a wrong operation was adopted', { attempt, account, operation, loser })
    return loser !== undefined
  }
  const held = await store.record(entry).catch(async (error) => {
    if (Problem.from(error).code !== 'operation_taken' || !(await disown(operation))) throw error
    return store.record(entry)
  })
  if (held) return held
  // It came late: something else may have been adopted for this attempt meanwhile.
  const known = await store.attempt(attempt)
  if (!known?.adopted || operationKey(known.operation) === operationKey(operation)) return held
  await disown(known.operation)
  return store.record(entry)
}
