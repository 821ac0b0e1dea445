import { type Family, families } from '../src/telemetry/families.ts'
import { row, type Tables, writeTables } from './tables.ts'

/*
 * Writes the table of metrics into docs/metrics.md; test/tables.test.ts compares the page with the data.
 * Run it after a change to src/telemetry/families.ts: node docs/metrics-table.ts
 */

function metrics(): string {
  const head = ['| metric | type | labels | meaning |', '|---|---|---|---|']
  const rows = Object.values<Family>(families).map(({ name, type, labels, help }) =>
    row([`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', ') || '–', help]),
  )
  return [...head, ...rows].join('\n')
}

export const tables: Tables = { metrics }

if (import.meta.main) await writeTables('metrics.md', tables)
