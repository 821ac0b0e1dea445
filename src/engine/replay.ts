import type { Attempt, AttemptFact } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import { apply } from '../core/states.ts'
import { queueTask, type Task, type TaskError } from '../core/task.ts'
import { eventsOf } from '../core/timeline.ts'
import { leaseMs } from '../core/timing.ts'
import type { Unsent } from '../unsent.ts'
import { recordAnswer } from './answers.ts'
import type { EngineOptions } from './options.ts'

type Means = Pick<EngineOptions, 'store' | 'spill' | 'unsent' | 'clock' | 'log'>

/** Records what an earlier process on this data folder learnt and could not record. */
export async function replay(means: Means): Promise<void> {
  await tellAnswers(means)
  await requeueUnsent(means)
}

/** Facts need no lease, and no task either. */
async function tellAnswers({ store, spill, clock, log }: Means): Promise<void> {
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

/**
 * What was committed and never sent is queued again. Where another process has claimed the task since, that one goes on
 * with it: it may have sent the attempt.
 */
async function requeueUnsent(means: Means): Promise<void> {
  const { store, unsent, clock, log } = means
  for (const note of unsent.all()) {
    const { attempt: id } = note
    const task = (await store.attempt(id))?.state === 'open' ? await takeOver(means, note) : undefined
    if (task) {
      const now = clock.now()
      const after = apply(task, { state: 'queued', dueAt: now })
      const problem: TaskError = { code: 'provider_unreachable', message: 'The process ended before the request left.' }
      const fact: AttemptFact = { id, state: 'refused', operation: null, settledAt: now, problem }
      await store.record({
        task: after,
        fact,
        events: eventsOf(task, after, now, ['attempt not sent', problem.message]),
      })
      log.info('an attempt was not sent', { task: task.id, attempt: id })
    }
    unsent.strike(note.task)
  }
}

/** The task under the lease of the process that ended, or, if the store has ended that, under the one that follows it. */
async function takeOver({ store, clock }: Means, { attempt, task: id, fence }: Unsent): Promise<Task | undefined> {
  const task = await store.find(id)
  if (task?.state !== 'held' || task.attempt !== attempt || task.fence !== fence) return undefined
  const until = clock.now() + leaseMs
  if ((await store.renew([task], until)).length === 0) return task
  const claimed = await store.claimOne(id, 'held', until)
  return claimed?.fence === fence + 1 ? claimed : undefined
}

/** Stands for the task, whose row may be gone while its attempt stays. No lease has it, so nothing of it is written. */
function nobodys({ task: id }: Attempt): Task {
  const asked = { prompt: '', seconds: 0, size: { width: 0, height: 0 }, parameters: {}, image: null }
  const none = { owner: '', model: '', card: '', digest: 0, startBy: 0, finishBy: 0 }
  return { ...queueTask({ id, ...asked, ...none }, 0), fence: -1 }
}
