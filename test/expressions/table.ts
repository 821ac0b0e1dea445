import { join } from 'node:path'
import { findExpressions } from './find.ts'
import { measure } from './measure.ts'
import { trustOf } from './trusted.ts'

/* `node test/expressions/table.ts` prints every expression that sees what a client sent, and its worst time on 1 MB. */
const { written } = findExpressions(join(import.meta.dirname, '../..'))
const rows = written
  .filter(({ file }) => trustOf(file) === undefined)
  .map(({ file, expression }) => ({ file, expression, ...measure(expression) }))
  .sort((a, b) => (b.worstMs ?? Number.POSITIVE_INFINITY) - (a.worstMs ?? Number.POSITIVE_INFINITY))

const shown = (text: string) => text.replaceAll('|', '\\|')
process.stdout.write('| expression | file | ms on 1 MB | worst text |\n|---|---|---|---|\n')
for (const { file, expression, worst, worstMs, fault } of rows) {
  const text = shown(`${JSON.stringify(worst.head)} ${JSON.stringify(worst.pump)} … ${JSON.stringify(worst.tail)}`)
  process.stdout.write(`| \`${shown(String(expression))}\` | ${file} | ${fault ?? worstMs?.toFixed(2)} | ${text} |\n`)
}
