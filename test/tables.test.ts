import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { tables as metrics } from '../docs/metrics-table.ts'
import { tables as models } from '../docs/provider-table.ts'
import { tables as requests } from '../docs/request-tables.ts'
import { tables as words } from '../docs/studio-words.ts'
import { replaceTables, type Tables } from '../docs/tables.ts'
import { tables as verification } from '../docs/verification-table.ts'

/* Pages whose tables are made from data. */
const pages: readonly [page: string, tables: Tables, writtenBy: string][] = [
  ['api.md', requests, 'request-tables.ts'],
  ['metrics.md', metrics, 'metrics-table.ts'],
  ['providers.md', models, 'provider-table.ts'],
  ['studio.md', words, 'studio-words.ts'],
  ['verification.md', verification, 'verification-table.ts'],
]

for (const [page, tables, writtenBy] of pages)
  it(`docs/${page} has the tables as the data has them (node docs/${writtenBy} writes them)`, () => {
    const text = readFileSync(join(import.meta.dirname, '../docs', page), 'utf8')
    assert.equal(text, replaceTables(text, tables))
  })
