import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { identityOf } from './local.ts'
import { openRandom } from './random.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-identity-'))
after(() => rmSync(folder, { recursive: true }))

it('a process keeps its name, and takes another where a full disk left none of it', () => {
  const file = join(folder, 'identity')
  writeFileSync(file, '')
  const name = identityOf(file, openRandom())
  assert.match(name, /^[0-9a-f]{12}$/)
  assert.equal(identityOf(file, openRandom()), name)
  assert.deepEqual(readdirSync(folder), ['identity'])
})
