import assert from 'node:assert/strict'

const [fewestRounds, mostRounds] = [5, 40]

/**
 * Fails if the work takes as long as a scan of every row. Both run in turn, and their fastest runs are compared: on a busy
 * machine it takes more rounds until each was undisturbed once.
 */
export async function assertNoScan(work: () => Promise<void>, scan: () => Promise<void>): Promise<void> {
  let [took, whole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 1; round <= mostRounds && (round <= fewestRounds || took >= whole); round += 1) {
    took = Math.min(took, await timed(work))
    whole = Math.min(whole, await timed(scan))
  }
  assert.ok(took < whole, `it took ${took} ms, and a scan of every row ${whole} ms`)
}

async function timed(run: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await run()
  return performance.now() - from
}
