import { otherNames, otherValues, pair, withoutEffect } from '../src/api/spellings/table.ts'
import { clients } from '../test/request-shapes/index.ts'
import { row, type Tables, writeTables } from './tables.ts'

/*
 * Writes the tables of other clients' requests into docs/api.md; test/tables.test.ts compares the page with the data.
 * Run it after a change to src/api/spellings/table.ts or test/request-shapes/: node docs/request-tables.ts
 */

const code = (text: string) => `\`${text}\``
const list = (texts: readonly string[]) => texts.map(code).join(', ')

function spellings(): string {
  const means = { 'first frame': '`image`', 'last frame': '`last_image`, where the model has it' }
  const named = Map.groupBy(Object.entries(otherNames), ([, rule]) => rule.means)
  const names = [...named].map(([meaning, rules]) => {
    const sentBy = [...new Set(rules.flatMap(([, rule]) => rule.sentBy.split(', ')))].join(', ')
    const meant = means[meaning as keyof typeof means] ?? code(meaning)
    return row([list(rules.map(([name]) => name)), meant, sentBy])
  })
  const values = otherValues.map(({ field, written, means }) =>
    row([`${code(field)}: ${list(written)}`, code(means), '']),
  )
  const idle = Object.entries(withoutEffect).map(([name, { values }]) =>
    row([`${code(name)}${values ? `: ${list(values)}` : ''}`, 'ignored', '']),
  )
  const head = ['| sent | understood as | by clients of |', '|---|---|---|']
  const pixels = row([pair.names.map(code).join(' + '), code(pair.means), pair.sentBy])
  return [...head, ...names, pixels, ...values, ...idle].join('\n')
}

function shapes(): string {
  const head = ['| client | request | outcome |', '|---|---|---|']
  const rows = clients.flatMap(({ client, shapes }) =>
    shapes.map(({ what, expected }) =>
      row([
        client,
        what,
        'refused' in expected ? `400 that names ${code(expected.refused)}` : `${expected.seconds} s, ${expected.size}`,
      ]),
    ),
  )
  return [...head, ...rows].join('\n')
}

export const tables: Tables = { spellings, 'request shapes': shapes }

if (import.meta.main) await writeTables('api.md', tables)
