import assert from 'node:assert/strict'

/** Fails if the work takes as long as a scan of every row. Each is run five times, and the fastest runs are compared. */
export async function assertNoScan(work: () => Promise<void>, scan: () => Promise<void>): Promise<void> {
  const [took, whole] = [await bestOf(5, work), await bestOf(5, scan)]
  assert.ok(took < whole, `it took ${took} ms, and a scan of every row ${whole} ms`)
}

/** The milliseconds of the fastest run: whatever else the machine does, one of them is undisturbed. */
async function bestOf(times: number, work: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let time = 0; time < times; time += 1) {
    const from = performance.now()
    await work()
    best = Math.min(best, performance.now() - from)
  }
  return best
}
