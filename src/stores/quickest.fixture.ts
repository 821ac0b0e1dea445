import assert from 'node:assert/strict'

/** Fails where it takes as long as looking at every row does, the quickest of five against the quickest of five. */
export async function assertNoScan(work: () => Promise<void>, scan: () => Promise<void>): Promise<void> {
  const [took, whole] = [await bestOf(5, work), await bestOf(5, scan)]
  assert.ok(took < whole, `it took ${took} ms, and a look at every row ${whole}`)
}

/** How many milliseconds the quickest of so many took: whatever else the machine does, one of them is undisturbed. */
async function bestOf(times: number, work: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let time = 0; time < times; time += 1) {
    const from = performance.now()
    await work()
    best = Math.min(best, performance.now() - from)
  }
  return best
}
