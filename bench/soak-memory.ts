import { renameSync, writeFileSync } from 'node:fs'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/* Loaded into a service by `--import`: on SIGUSR2 it writes its use of memory to a file. */
export interface SoakMemory extends NodeJS.MemoryUsage {
  /** The used heap after the last major collection: without it, garbage that is not collected yet looks like growth. */
  collected: number
}

const file = process.env.BENCH_MEMORY
if (isMainThread && file) watchMemory(file)

function watchMemory(file: string): void {
  let collected = 0
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as unknown as { detail: { kind: number } }[]
    const isMajor = entries.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)
    if (isMajor) collected = process.memoryUsage().heapUsed
  })
  observer.observe({ entryTypes: ['gc'] })
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, JSON.stringify({ ...process.memoryUsage(), collected } satisfies SoakMemory))
    renameSync(`${file}.new`, file)
  })
}
