import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { misfitOf, plantedBugs } from './planted-bugs.ts'

/* Cheap: `node test/faults/planted.ts` runs them. */

it('each bug that can be planted fits the code, and names a test that exists', () => {
  const root = join(import.meta.dirname, '..', '..')
  assert.deepEqual(
    plantedBugs.flatMap((bug) => misfitOf(bug, root) ?? []),
    [],
  )
  assert.equal(new Set(plantedBugs.map(({ name }) => name)).size, plantedBugs.length)
})
