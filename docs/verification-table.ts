import { type Kind, kinds } from '../src/media/corpus.fixture.ts'
import { row, type Tables, writeTables } from './tables.ts'

/*
 * Writes the tables of broken videos into docs/verification.md; test/tables.test.ts compares the page with the data.
 * Run it after a change to src/media/corpus.fixture.ts: node docs/verification-table.ts
 */

function outcomeOf({ tries = 1, looks, ...refused }: Kind, mode: 'full' | 'smart'): string {
  if (tries > 1) return `${refused[mode]} of ${tries}`
  return refused[mode] > 0 ? 'refused' : looks?.[mode] ? `reported as ${looks[mode]}` : 'accepted'
}

function missed(): string {
  const head = ['| damage | video | `full` refuses | `smart` refuses |', '|---|---|---|---|']
  const rows = kinds
    .filter(({ full, smart, looks }) => smart < full || looks?.full !== looks?.smart)
    .map((kind) => row([kind.what, kind.film, outcomeOf(kind, 'full'), outcomeOf(kind, 'smart')]))
  return [...head, ...rows].join('\n')
}

function corpus(): string {
  const head = ['| damage | video | `full` | `smart` |', '|---|---|---|---|']
  const rows = kinds.map((kind) => row([kind.what, kind.film, outcomeOf(kind, 'full'), outcomeOf(kind, 'smart')]))
  return [...head, ...rows].join('\n')
}

export const tables: Tables = { missed, corpus }

if (import.meta.main) await writeTables('verification.md', tables)
