import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../core/problem.ts'

/**
 * Reads again only if one of these files has changed. The console requests the settings every 10 seconds, and reading
 * them takes as long as at a start, on the main thread. By content: a copy or a restored file may have the same time.
 */
export function rereadChanged<Result>(files: readonly string[], read: () => Result): () => Result {
  let last: { digest: string; result: Result } | undefined
  return () => {
    const digest = files.map(digestOf).join()
    if (last?.digest !== digest) last = { digest, result: read() }
    return last.result
  }
}

/** Not the content itself: it may be a key. */
function digestOf(file: string): string {
  try {
    return hash('sha256', readFileSync(file))
  } catch (error) {
    return messageOf(error)
  }
}
