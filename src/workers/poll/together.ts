import { Problem } from '../../core/problem.ts'
import type { Json, Task } from '../../core/task.ts'
import type { Progress } from '../../providers/provider.ts'
import { type Account, callOf, type Tools } from '../worker.ts'

/** Operations that are polled in one request, and its result. */
interface Batch {
  operations: Set<Json>
  result: Promise<ReadonlyMap<Json, Progress>>
}

/** The batch of each account that others may join. */
const open = new WeakMap<Account, Batch>()

/**
 * Polls a task. If its provider can poll several in one request, those of one turn of the event loop share it. A task that
 * the shared response does not have is polled on its own. If the shared request failed, all have failed: more requests
 * would not help a provider that is away or busy.
 */
export async function pollTask(task: Task, account: Account, tools: Tools, signal: AbortSignal): Promise<Progress> {
  const { operation } = task
  const { provider } = account
  const shared = provider.pollMany && (await unlessAborted(signal, batchOf(account, operation, tools)))
  return shared?.get(operation) ?? provider.poll(operation, callOf(account, task, tools, signal))
}

function batchOf(account: Account, operation: Json, tools: Tools): Batch['result'] {
  const most = account.provider.pollMany?.most ?? 0
  let batch = open.get(account)
  if (!batch || batch.operations.size >= most) {
    const operations = new Set<Json>()
    const result = new Promise(setImmediate).then(() => pollAll(account, operations, tools))
    // Its tasks may have been aborted by then.
    result.catch(() => {})
    batch = { operations, result }
    open.set(account, batch)
  }
  batch.operations.add(operation)
  return batch.result
}

/** Not aborted with one of its tasks. */
async function pollAll(account: Account, operations: Set<Json>, tools: Tools): Promise<ReadonlyMap<Json, Progress>> {
  if (open.get(account)?.operations === operations) open.delete(account)
  const { pollMany } = account.provider
  if (!pollMany || operations.size < 2) return new Map()
  const call = callOf(account, { attempt: null }, tools, new AbortController().signal)
  return pollMany.poll([...operations], call).catch((error) => {
    if (error instanceof Problem && error.retryable) throw error
    return new Map()
  })
}

async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.throwIfAborted()
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', abort))
}
