import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { rows } from './matrix.ts'

it('every test that the matrix of faults names is in the file that it names, or in a contract that the file runs', () => {
  const root = join(import.meta.dirname, '../..')
  const read = (file: string) => readFileSync(join(root, 'test', file), 'utf8')
  const contracts = globSync('../src/**/{contract,contract/*}.ts', { cwd: join(root, 'test') }).map(read)
  const missing = rows.flatMap(({ id, tests }) =>
    tests
      .filter(([file, name]) => ![read(file), ...contracts].some((text) => text.includes(name)))
      .map(([file, name]) => `${id}: ${file}: ${name}`),
  )
  assert.deepEqual(missing, [])
})
