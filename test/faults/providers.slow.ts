import assert from 'node:assert/strict'
import { it } from 'node:test'
import { simulators } from '../../simulators/index.ts'
import { runProviders } from './providers.ts'

it('tasks over every provider, with faults by chance, end as they should, and the books agree', async (test) => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  test.diagnostic(`SEED=${seed}`)
  const report = await runProviders({ tasks: 20 * Object.keys(simulators).length, seed, say: () => {} })
  assert.deepEqual(report.violations, [])
  for (const name of Object.keys(simulators)) assert.ok((report.ends[name]?.completed ?? 0) > 10, name)
})
