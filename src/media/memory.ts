import { readFile } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Request } from './protocol.ts'

/*
 * How much memory a child may have while it works, its native parts included. A limit of the system would not do: V8
 * reserves far more addresses than it uses, and ends the process where it is refused some, which looks like a crash.
 */

const everyMs = 100
/** A video of 8192x4320 pixels takes half of it. */
const usualBytes = 1536 * 2 ** 20
/** Uploads are smaller, and are checked where the API runs, which may have little more. */
const uploadBytes = 512 * 2 ** 20

interface MemoryWatch extends Disposable {
  /** What the child was killed for. */
  readonly problem: Problem | undefined
}

/** Kills the process when it has more than its request may take. Only Linux tells how much that is. */
export function watchMemory(clock: Clock, { pid, kill }: { pid: number; kill(): void }, request: Request): MemoryWatch {
  const over = new AbortController()
  const limit = request.kind === 'check' ? uploadBytes : usualBytes
  let problem: Problem | undefined
  async function watch(): Promise<void> {
    // What earlier jobs left in the child is not the fault of this one.
    const before = (await residentBytes(pid)) ?? 0
    while (!over.signal.aborted) {
      const bytes = await residentBytes(pid)
      if (bytes === undefined) return
      if (bytes - before > limit && !over.signal.aborted) {
        problem = tooDemanding(request, `the media child took ${bytes - before} bytes of memory, and may take ${limit}`)
        return kill()
      }
      await clock.sleep(everyMs, over.signal)
    }
  }
  void watch()
  return {
    get problem() {
      return problem
    },
    [Symbol.dispose]: () => over.abort(),
  }
}

async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? []
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
}

/** The same again would take as much: nothing of this is worth a second try. */
function tooDemanding({ kind }: Request, cause: string): Problem {
  switch (kind) {
    case 'render':
      return new Problem('generation_failed', 'The video takes too much memory to generate.', { cause })
    case 'inspect':
      return new Problem('invalid_image', 'The image cannot be used. It takes too much memory to decode.', { cause })
    case 'check':
      return new Problem('invalid_value', 'The video takes too much memory to check. Send a simpler one.', { cause })
    default:
      return new Problem('unsupported_output', 'The video cannot be used. It takes too much memory to decode.', {
        cause,
      })
  }
}
