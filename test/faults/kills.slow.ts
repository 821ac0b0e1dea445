import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runKills } from './kills.ts'

const runs = 20

it(`kill -9 of ${runs} gateways before faulty upstreams: nothing is lost, paid twice or given to another, all is bound or held`, async (test) => {
  const seed = Number(process.env.SEED ?? 1)
  const { violations, ...counts } = await runKills({ runs, seed })
  test.diagnostic(JSON.stringify(counts))
  assert.deepEqual(violations, [])
  assert.equal(counts.kills, runs)
  assert.ok(counts.accepts >= runs && counts.cut > 0, 'too little happened to show anything')
})
