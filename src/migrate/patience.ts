import { Problem } from '../core/problem.ts'
import type { MoveTools } from '../migrate.ts'

const pausesMs = [500, 2_000, 8_000]

/** A database or a bucket that is away for a moment must not end a move of hours. All that is done here may be repeated. */
export async function patiently<Result>(
  work: () => Promise<Result>,
  { sleep, signal }: Pick<MoveTools, 'sleep' | 'signal'>,
): Promise<Result> {
  for (const ms of pausesMs) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || !(error instanceof Problem && error.retryable)) throw error
    }
    await sleep(ms, signal)
    signal.throwIfAborted()
  }
  return work()
}
