import { type AttemptFact, operationKey } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import type { EngineOptions } from './options.ts'

/**
 * Writes a fact that may contradict an adoption. An operation that a provider answered to a submit beats one that was
 * adopted: the attempt that adopted it loses it. May be repeated as a whole after any failure. Throws `operation_taken`
 * if both attempts have a direct answer. `write` says whether a decision was written with the fact.
 */
export async function recordAnswer(
  { store, clock, log }: Pick<EngineOptions, 'store' | 'clock' | 'log'>,
  account: string,
  fact: AttemptFact,
  write: () => Promise<boolean>,
): Promise<boolean> {
  const { id: attempt, operation, adopted } = fact
  if (operation === null || adopted) return write()
  const disown = async (wrong: Json) => {
    const loser = await store.disown(account, wrong, clock.now())
    log.error('a wrong operation was adopted', { attempt, account, operation, loser })
    return loser !== undefined
  }
  const held = await write().catch(async (error) => {
    if (Problem.from(error).code !== 'operation_taken' || !(await disown(operation))) throw error
    return write()
  })
  if (held) return held
  // It came late: something else may have been adopted for this attempt meanwhile.
  const known = await store.attempt(attempt)
  if (!known?.adopted || operationKey(known.operation) === operationKey(operation)) return held
  await disown(known.operation)
  return write()
}
