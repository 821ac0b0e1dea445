import type { AttemptFact } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import { attemptFact } from '../core/recovery.ts'
import { apply } from '../core/states.ts'
import type { Task, TaskError } from '../core/task.ts'
import { eventsOf } from '../core/timeline.ts'
import { leaseMs } from '../core/timing.ts'
import { taskFields } from '../core/trace.ts'
import type { EngineOptions } from './options.ts'
import { recordFact } from './records.ts'
import type { Unsent } from './unsent.ts'

type ReplayOptions = Pick<EngineOptions, 'store' | 'spill' | 'unsent' | 'clock' | 'log'>

/** Records what an earlier process on this data folder learnt and could not record. */
export async function replay(options: ReplayOptions): Promise<void> {
  await recordSpilt(options)
  await requeueUnsent(options)
}

/** Records the responses that were spilt. Facts need neither a lease nor a task. */
async function recordSpilt({ store, spill, clock, log }: ReplayOptions): Promise<void> {
  const record = async (fact: AttemptFact) => {
    const { id, operation } = fact
    const attempt = await store.attempt(id)
    // Its row is gone: a fail-over may have lost the last commits. The operator has to check.
    if (!attempt) return log.error('a response has no matching attempt', { attempt: id, operation })
    await recordFact({ store, clock, log }, attempt.account, fact, async () => {
      await store.settle(attempt.task, fact)
      return false
    })
    spill.drop(id)
    log.warn('a spilled response was recorded', { ...(await fieldsOf(store, attempt.task)), attempt: id })
  }
  for (const fact of spill.all()) {
    try {
      await record(fact)
    } catch (error) {
      // The store can't be written: the whole replay is tried again later.
      if (Problem.from(error).code === 'storage_unavailable') throw error
      // The store will never accept it, for example because the operation belongs to another attempt by now. The other
      // facts are still recorded.
      spill.setAside(fact.id)
      const { id: attempt, operation } = fact
      const task = (await store.attempt(attempt).catch(() => undefined))?.task
      const about = { ...(task !== undefined && (await fieldsOf(store, task))), attempt, operation, error }
      log.error('a spilled response was refused and set aside', about)
    }
  }
}

/** The task and its trace, for a line of the log. Without its row the trace is unknown. */
async function fieldsOf(store: ReplayOptions['store'], id: string): Promise<ReturnType<typeof taskFields>> {
  return taskFields((await store.find(id).catch(() => undefined)) ?? { id, trace: null })
}

/** Queues each task again whose attempt was not sent. A note that fails stops neither the others nor the start. */
async function requeueUnsent(options: ReplayOptions): Promise<void> {
  const { store, unsent, log } = options
  for (const note of unsent.all()) {
    const about = { ...(await fieldsOf(store, note.task)), attempt: note.attempt }
    try {
      if (await requeue(options, note)) log.info('an attempt was not sent', about)
      unsent.strike(note.task)
    } catch (error) {
      // The store can't be written: the whole replay is tried again later.
      if (Problem.from(error).code === 'storage_unavailable') throw error
      log.warn('an unsent attempt could not be requeued', { ...about, error })
    }
  }
}

/** Returns false if another process has claimed the task since: it goes on with it, and may have sent the attempt. */
async function requeue({ store, clock }: ReplayOptions, note: Unsent): Promise<boolean> {
  const task = await takeOver({ store, clock }, note)
  if (!task || (await store.attempt(note.attempt))?.state !== 'open') return false
  const now = clock.now()
  const after = apply(task, { state: 'queued', dueAt: now })
  const problem: TaskError = { code: 'provider_unreachable', message: 'The process ended before the request was sent.' }
  const fact = attemptFact(note.attempt, 'refused', problem, now)
  const events = eventsOf(task, after, now, ['attempt not sent', problem.message])
  return store.record({ task: after, fact, isFactFenced: true, events })
}

/** The task under the lease of the process that ended, or, if the store has ended that lease, under the next one. */
async function takeOver(
  { store, clock }: Pick<ReplayOptions, 'store' | 'clock'>,
  { attempt, task: id, fence }: Unsent,
): Promise<Task | undefined> {
  const until = clock.now() + leaseMs
  // This comes first: a COMMIT of the process that ended may still run, and the renewal waits for it.
  const hasLease = (await store.renew([{ id, fence }], until)).length === 0
  const task = await store.find(id)
  if (task?.state !== 'held' || task.attempt !== attempt || task.fence !== fence) return undefined
  if (hasLease) return task
  const claimed = await store.claimOne(id, 'held', until)
  return claimed?.fence === fence + 1 ? claimed : undefined
}
