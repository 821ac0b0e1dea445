import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kind, kinds } from '../src/media/corpus.fixture.ts'

/*
 * Writes the tables of broken videos into docs/verification.md; a test compares the page with the data.
 * Run it after a change to src/media/corpus.fixture.ts: node docs/verification-table.ts
 */

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`

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

const tables: Readonly<Record<string, () => string>> = { missed, corpus }

export function withTables(page: string): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    const [before = '', rest = ''] = text.split(begin)
    return `${before}${begin}\n\n${table()}\n\n${end}${rest.split(end)[1] ?? ''}`
  }, page)
}

if (import.meta.main) {
  const path = join(import.meta.dirname, 'verification.md')
  await writeFile(path, withTables(await readFile(path, 'utf8')))
}
