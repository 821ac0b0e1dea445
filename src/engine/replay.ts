import type { AttemptFact } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import { apply } from '../core/states.ts'
import type { Task, TaskError } from '../core/task.ts'
import { eventsOf } from '../core/timeline.ts'
import { leaseMs } from '../core/timing.ts'
import { recordAnswer } from './answers.ts'
import type { EngineOptions } from './options.ts'
import type { Unsent } from './unsent.ts'

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
    await recordAnswer({ store, clock, log }, attempt.account, fact, async () => {
      await store.settle(attempt.task, fact)
      return false
    })
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

/** Queues again what was committed and never sent. A note that can't be settled must not stop the others, nor the start. */
async function requeueUnsent(means: Means): Promise<void> {
  const { unsent, log } = means
  for (const note of unsent.all()) {
    const about = { task: note.task, attempt: note.attempt }
    try {
      if (await requeue(means, note)) log.info('an attempt was not sent', about)
      unsent.strike(note.task)
    } catch (error) {
      // The store is away: so it is for the rest of the start.
      if (error instanceof Problem && error.code === 'storage_unavailable') throw error
      log.warn('a note of an attempt that was not sent is left', { ...about, error })
    }
  }
}

/** False if another process has claimed the task since: it goes on with it, and may have sent the attempt. */
async function requeue({ store, clock }: Means, note: Unsent): Promise<boolean> {
  const task = await takeOver({ store, clock }, note)
  if (!task || (await store.attempt(note.attempt))?.state !== 'open') return false
  const now = clock.now()
  const after = apply(task, { state: 'queued', dueAt: now })
  const problem: TaskError = { code: 'provider_unreachable', message: 'The process ended before the request left.' }
  const fact: AttemptFact = { id: note.attempt, state: 'refused', operation: null, settledAt: now, problem }
  const events = eventsOf(task, after, now, ['attempt not sent', problem.message])
  return store.record({ task: after, fact, isFactFenced: true, events })
}

/** The task under the lease of the process that ended, or, if the store has ended that, under the one that follows it. */
async function takeOver(
  { store, clock }: Pick<Means, 'store' | 'clock'>,
  { attempt, task: id, fence }: Unsent,
): Promise<Task | undefined> {
  const until = clock.now() + leaseMs
  // First: a COMMIT of the process that ended may be under way, and this waits for it.
  const isHeld = (await store.renew([{ id, fence }], until)).length === 0
  const task = await store.find(id)
  if (task?.state !== 'held' || task.attempt !== attempt || task.fence !== fence) return undefined
  if (isHeld) return task
  const claimed = await store.claimOne(id, 'held', until)
  return claimed?.fence === fence + 1 ? claimed : undefined
}
