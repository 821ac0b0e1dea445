import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../core/clock.ts'

/**
 * Keeps the young part of the heap at the size that loading the program gave it, 16 MB. Under load it would grow to 64 MB,
 * in each thread, and stay so; smaller ones are collected more often, at no more CPU in all (measured). Not in `start`: the
 * flag applies to the whole process, which is not ours in tests.
 */
export function limitYoungHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** What this process uses, and how it returns memory to the system. Tests replace it. */
interface OwnMemory {
  /** Milliseconds of CPU since the start of the process, of all its threads. */
  cpuMs(): number
  residentBytes(): number
  collect(): void
}

const everyMs = 5_000
/** A process is idle if it used less CPU than this in one period. */
const idleCpuMs = 0.05 * everyMs
/** A collection takes about 100 ms, so it must be worth it. */
const worthBytes = 32 * 2 ** 20

/**
 * Garbage is collected while a program allocates. After load nothing does, and hundreds of megabytes would stay taken until
 * the next load. So if the process has become idle, its memory is returned, once.
 */
export async function returnIdleMemory(
  clock: Pick<Clock, 'sleep'>,
  { signal, warn }: { signal: AbortSignal; warn: (message: string) => void },
  memory: OwnMemory = ownMemory(),
): Promise<void> {
  let [kept, cpuMs] = [0, memory.cpuMs()]
  for (;;) {
    await clock.sleep(everyMs, signal)
    if (signal.aborted) return
    const isIdle = memory.cpuMs() - cpuMs < idleCpuMs
    if (isIdle && memory.residentBytes() > kept + worthBytes) {
      try {
        memory.collect()
      } catch (error) {
        // The next time would be no different, and the service does not need it.
        return warn(`memory is not returned to the system when idle (${(error as Error).message})`)
      }
      kept = memory.residentBytes()
    }
    cpuMs = memory.cpuMs()
  }
}

function ownMemory(): OwnMemory {
  return {
    cpuMs() {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
    residentBytes() {
      try {
        return process.memoryUsage.rss()
      } catch {
        // It is read from a file, and no more can be opened: then nothing is collected.
        return 0
      }
    },
    collect() {
      setFlagsFromString('--expose-gc')
      const collect: NodeJS.GCFunction = runInNewContext('gc')
      // Any other collection keeps freed pages for later.
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    },
  }
}
