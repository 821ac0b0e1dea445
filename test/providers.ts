import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { run } from 'node:test'

/*
 * `npm run test:providers`: the contract of every provider, and the vendors' own clients at its simulator, in one table.
 */
const root = join(import.meta.dirname, '..')
const files = globSync(['src/providers/**/*.{test,slow}.ts', 'simulators/*.test.ts'], { cwd: root })
  .filter((file) => basename(file) !== 'upstream.test.ts')
  .map((file) => join(root, file))
  .sort()

/** The result of each row, by column. */
const columns = new Map<string, Map<string, string>>()
const others = new Map<string, { good: number; bad: number }>()
const failures: string[] = []
const marks = { good: '✔', bad: '✖', skipped: '–' }
/** The names of the enclosing tests, by file and depth. */
const around = new Map<string, string>()

for await (const { type, data } of run({ files, concurrency: 2 })) {
  if (type === 'test:start') around.set(`${data.file} ${data.nesting}`, data.name)
  if (type !== 'test:pass' && type !== 'test:fail') continue
  const { file = '', name, nesting, details } = data
  if (details.type === 'suite' || name === file) continue
  const verdict = type === 'test:fail' ? 'bad' : data.skip === undefined ? 'good' : 'skipped'
  if (verdict === 'bad') failures.push(`${basename(file)}: ${name}`)
  const suite = nesting === 0 ? '' : (around.get(`${file} 0`) ?? '')
  const provider = /^the (?!words |studio )(.+) provider$/.exec(suite)?.[1]
  if (provider && nesting === 1) note(provider, name.replace(/^(makes a video) of .*/, '$1'), verdict)
  else if (nesting === 0 || !provider) count(file, verdict)
}

function note(provider: string, row: string, verdict: keyof typeof marks): void {
  const column = columns.get(provider) ?? new Map<string, string>()
  columns.set(provider, column)
  // Several tests share a line, which shows the worst result.
  if (column.get(row) !== marks.bad) column.set(row, marks[verdict])
}

function count(file: string, verdict: keyof typeof marks): void {
  const name = `${file.includes('/simulators/') ? 'at the simulator' : 'of its own'}: ${basename(file, '.test.ts')}`
  const { good, bad } = others.get(name) ?? { good: 0, bad: 0 }
  others.set(name, { good: good + Number(verdict === 'good'), bad: bad + Number(verdict === 'bad') })
}

const rows = [...new Set([...columns.values()].flatMap((column) => [...column.keys()]))]
const names = [...columns.keys()].sort()
const widest = Math.max(...names.map((name) => name.length))
const out = (text: string) => process.stdout.write(text)
const line = (first: string, cells: string[]) =>
  out(`${first.padEnd(widest)} ${cells.map((cell) => cell.padStart(3)).join('')}\n`)

out(`\nThe contract (${marks.good} holds, ${marks.bad} does not, ${marks.skipped} there is no such thing there)\n\n`)
for (const [at, row] of rows.entries()) out(`${String(at + 1).padStart(3)}  ${row}\n`)
out('\n')
line(
  '',
  rows.map((_, at) => String(at + 1)),
)
for (const name of names)
  line(
    name,
    rows.map((row) => columns.get(name)?.get(row) ?? ' '),
  )
out(
  "\nThe vendors' own clients at the simulators (Kling has none: its documented exchanges), and what else there is\n\n",
)
for (const [name, { good, bad }] of [...others].sort())
  out(`${bad === 0 ? marks.good : marks.bad} ${name}: ${good} of ${good + bad}\n`)
for (const failure of failures) out(`\n${marks.bad} ${failure}`)
out(`\n${failures.length === 0 ? 'All hold.' : `${failures.length} do not hold.`}\n`)
process.exitCode = failures.length === 0 ? 0 : 1
