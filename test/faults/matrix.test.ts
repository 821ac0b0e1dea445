import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { rows } from './matrix.ts'

it('every test that the matrix of faults names exists', () => {
  const root = join(import.meta.dirname, '../..')
  // A file may run the tests of a contract beside its own.
  const files = globSync('{src,test}/**/{*.test,*.slow,contract,contract/*}.ts', { cwd: root })
  const names = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  const missing = rows.flatMap(({ id, tests }) =>
    tests.filter(([, name]) => !names.includes(name)).map(([, name]) => `${id}: ${name}`),
  )
  assert.deepEqual(missing, [])
})
