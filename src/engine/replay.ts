import type { Attempt, AttemptFact } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import { queueTask, type Task } from '../core/task.ts'
import { recordAnswer } from './answers.ts'
import type { EngineOptions } from './options.ts'

type Means = Pick<EngineOptions, 'store' | 'spill' | 'clock' | 'log'>

/** Records what an earlier process learnt and could not record. Facts need no lease, and no task either. */
export async function replay({ store, spill, clock, log }: Means): Promise<void> {
  const tell = async (fact: AttemptFact) => {
    const { id, operation } = fact
    const attempt = await store.attempt(id)
    // Its row is gone, as after a fail-over that lost the last moments: an operator has to look.
    if (!attempt) return log.error('an answer belongs to no attempt', { attempt: id, operation })
    await recordAnswer({ store, clock, log }, attempt.account, { task: nobodys(attempt), fact })
    spill.drop(id)
    log.warn('an answer was recorded late', { task: attempt.task, attempt: id })
  }
  for (const fact of spill.all()) {
    try {
      await tell(fact)
    } catch (error) {
      // The store is away: so it is for the rest of the start.
      if (Problem.from(error).code === 'storage_unavailable') throw error
      // What it will never take, as work that is another attempt's by now, must not keep this process from its other work.
      spill.setAside(fact.id)
      log.error('an answer was refused, and set aside', { attempt: fact.id, operation: fact.operation, error })
    }
  }
}

/** Stands for the task, whose row may be gone while its attempt stays. No lease has it, so nothing of it is written. */
function nobodys({ task: id }: Attempt): Task {
  const asked = { prompt: '', seconds: 0, size: { width: 0, height: 0 }, parameters: {}, image: null }
  const none = { owner: '', model: '', card: '', digest: 0, startBy: 0, finishBy: 0 }
  return { ...queueTask({ id, ...asked, ...none }, 0), fence: -1 }
}
