import type { EngineOptions } from './options.ts'

/** Tells the store what an earlier process learnt and could not record. Facts need no lease. */
export async function replay({ store, spill, log }: Pick<EngineOptions, 'store' | 'spill' | 'log'>): Promise<void> {
  for (const fact of spill.all()) {
    const attempt = await store.attempt(fact.id)
    const task = attempt && (await store.find(attempt.task))
    if (!task) {
      // Its row is gone, as after a fail-over that lost the last moments: an operator has to look.
      log.error('an answer belongs to no attempt', { attempt: fact.id, operation: fact.operation })
      continue
    }
    await store.record({ task: { ...task, fence: nobodys }, fact })
    spill.drop(fact.id)
    log.warn('an answer was recorded late', { task: task.id, attempt: fact.id })
  }
}

/** No lease has it. */
const nobodys = -1
