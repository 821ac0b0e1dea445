import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { withTables } from '../docs/verification-table.ts'
import { kinds } from '../src/media/corpus.fixture.ts'

it('docs/verification.md has every kind of broken video as the corpus has it (node docs/verification-table.ts writes it)', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/verification.md'), 'utf8')
  assert.equal(page, withTables(page))
})

it('no kind is refused by smart more often than by full, and every codec has some', () => {
  const broken = kinds.filter(({ what }) => what !== 'none')
  assert.ok(broken.length >= 30)
  assert.deepEqual(
    broken.filter(({ full, smart, tries = 1 }) => smart > full || full > tries),
    [],
  )
  for (const codec of ['H.264', 'HEVC', 'VP9', 'AV1']) assert.ok(broken.some(({ film }) => film.startsWith(codec)))
})
