import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runFleet } from './fleet.ts'

const disturbances = 8

it(`${disturbances} kills, pauses and restarts of six processes on one database: nothing is lost, nothing is paid twice`, async (test) => {
  const seed = Number(process.env.SEED ?? 1)
  const { violations, ...counts } = await runFleet({ disturbances, seed })
  test.diagnostic(JSON.stringify(counts))
  assert.deepEqual(violations, [])
  assert.ok(counts.kills + counts.pauses + counts.stops + counts.cuts === disturbances)
  assert.ok(counts.accepts > disturbances, 'too little happened to show anything')
})
