import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { middle } from './measure.ts'

/*
 * Another checkout of Filmgate against this one. Both run from copies, so nothing is written into a checkout. In each round
 * both run each part in turn, so that noise of the machine affects both. Each runs its own bench; if the other one does not
 * have the part, ours runs on its source.
 */
interface AgainstBench {
  /** The other checkout, with its node_modules. */
  other: string
  folder: string
  rounds: number
  parts: readonly string[]
  /** For the bench of both, such as `--quick`. */
  flags: readonly string[]
  say: (text: string) => void
}

type Side = 'before' | 'after'

interface Figure {
  name: string
  value: number
  unit: string
  goal: string
  /** Within its run. */
  spread: readonly number[]
}

const here = fileURLToPath(new URL('..', import.meta.url))

/** Returns the report. */
export async function benchAgainst(bench: AgainstBench): Promise<string> {
  const { folder, other, rounds, parts, say } = bench
  if (!['bench/index.ts', 'node_modules'].every((name) => existsSync(join(other, name))))
    throw new Error(`--against is '${other}'. Use the folder of another checkout, with its node_modules`)
  if (!(rounds >= 1)) throw new Error('--rounds must be a number from 1')
  // A run takes long, and a checkout may change meanwhile.
  const versions = `Before is ${versionOf(other)}, after is ${versionOf(here)}.`
  const roots = { before: copyOf(other, join(folder, 'before')), after: copyOf(here, join(folder, 'after')) }
  const mixed = copyOf(other, join(folder, 'mixed'))
  rmSync(join(mixed, 'bench'), { recursive: true })
  cpSync(join(here, 'bench'), join(mixed, 'bench'), { recursive: true })
  const found: Record<Side, Figure[]> = { before: [], after: [] }
  const failures = new Set<string>()
  for (let round = 0; round < rounds; round += 1)
    for (const [at, part] of parts.entries()) {
      const sides: Side[] = (round + at) % 2 === 0 ? ['before', 'after'] : ['after', 'before']
      for (const side of sides) {
        say(`${part || 'all'} ${side}, round ${round + 1} of ${rounds}`)
        const places = side === 'before' ? [roots.before, mixed] : [roots.after]
        const figures = await measure(places, [...(part ? ['--only', part] : []), ...bench.flags])
        if (typeof figures === 'string') failures.add(`${part || 'all'} ${side}: ${figures}`)
        else found[side].push(...figures)
        // A run takes long: its log keeps what is known if it is interrupted.
        process.stdout.write(typeof figures === 'string' ? `  ${figures}\n` : figures.map(toLogged).join(''))
      }
    }
  const failed = [...failures].map((failure) => `- ${failure}\n`).join('')
  return [versions, toTable(found), failed].join('\n\n').trimEnd()
}

const toLogged = ({ name, value, unit }: Figure) => `  ${name}: ${value}${unit}\n`

function copyOf(root: string, target: string): string {
  mkdirSync(target, { recursive: true })
  const apart = ['node_modules', '.git']
  cpSync(root, target, { recursive: true, filter: (path) => !apart.includes(relative(root, path)) })
  symlinkSync(resolve(root, 'node_modules'), join(target, 'node_modules'))
  return target
}

function versionOf(root: string): string {
  return execFileSync('git', ['-C', root, 'describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
}

/** In the first place whose bench knows the part. Returns why if there are no figures. */
async function measure(places: readonly string[], flags: readonly string[]): Promise<Figure[] | string> {
  let problem = ''
  for (const place of places) {
    const { printed, errors } = await run([join(place, 'bench/index.ts'), ...flags])
    const figures = readTable(printed)
    if (figures.length > 0) return figures
    problem = /^\w*Error.*/m.exec(errors)?.[0] ?? 'it printed no figures'
    if (!problem.includes('--only is')) return problem
  }
  return problem
}

async function run(args: string[]): Promise<{ printed: string; errors: string }> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => child.kill()
  process.once('exit', kill)
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  process.off('exit', kill)
  return { printed, errors }
}

/** The table that `toTable` in measure.ts creates, of this version or another one. */
function readTable(printed: string): Figure[] {
  const cells = (line: string) => line.split('|').map((cell) => cell.trim())
  const rows = printed.split('\n').filter((line) => line.startsWith('| '))
  const head = cells(rows[0] ?? '')
  return rows.slice(1).flatMap((line) => {
    const row = cells(line)
    const at = (title: string) => row[head.indexOf(title)] ?? ''
    const [, value, unit = ''] = /^(-?[\d.]+)(.*)$/.exec(at('median')) ?? []
    if (value === undefined) return []
    const spread = (at('spread').match(/-?[\d.]+/g) ?? []).map(Number)
    return [{ name: at('what'), value: Number(value), unit, goal: at('goal') || at('must'), spread }]
  })
}

function toTable({ before, after }: Record<Side, Figure[]>): string {
  const names = new Set([...after, ...before].map(({ name }) => name))
  const rows = [...names].map((name) => {
    const [old, now] = [before, after].map((all) => all.filter((figure) => figure.name === name))
    const [was, is] = [cellsOf(old), cellsOf(now)]
    const ratio = old?.length && now?.length ? middleOf(now).value / middleOf(old).value : Number.NaN
    return [name, ...was, ...is, Number.isFinite(ratio) ? `${ratio.toFixed(2)} ×` : '', now?.[0]?.goal ?? '']
  })
  const head = ['figure', 'before', 'spread', 'after', 'spread', 'after ÷ before', 'goal']
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const middleOf = (figures: readonly Figure[]) => middle(figures.map(({ value }) => value))

/** Of all runs, with the spread of each. */
const spreadOf = (figures: readonly Figure[]) =>
  middle(figures.flatMap(({ value, spread }) => [value, ...spread])).spread

function cellsOf(figures: readonly Figure[] = []): [value: string, spread: string] {
  if (figures.length === 0) return ['', '']
  const { value } = middleOf(figures)
  const format = (number: number) => (number >= 100 ? String(Math.round(number)) : number.toFixed(2))
  return [`${format(value)}${figures[0]?.unit}`, spreadOf(figures).map(format).join(' … ')]
}
