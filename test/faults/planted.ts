import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { misfitOf, type PlantedBug, type PlantedTest, plantedBugs } from './planted-bugs.ts'

/*
 * `node test/faults/planted.ts [--only NAME]`: plants one bug at a time into a copy of this tree, and runs the tests that
 * have to fail then. It exits with 1 if one of them passes with its bug, or does not pass without.
 */
const { values } = parseArgs({ options: { only: { type: 'string' } } })
const root = join(import.meta.dirname, '..', '..')
/** A test that hangs has failed. The runner is killed a little later, if it does not notice by itself. */
const [testMs, runMs] = [90_000, 120_000]
const stop = new AbortController()
const say = (line: string) => void process.stdout.write(`${line}\n`)

process.exitCode = (await main()) ? 0 : 1

async function main(): Promise<boolean> {
  const bugs = plantedBugs.filter(({ name }) => values.only === undefined || values.only === name)
  const misfits = bugs.flatMap((bug) => misfitOf(bug, root) ?? [])
  if (bugs.length === 0)
    misfits.push(`no bug is called '${values.only}': ${plantedBugs.map(({ name }) => name).join(' ')}`)
  for (const misfit of misfits) say(misfit)
  if (misfits.length > 0) return false
  using copy = copyTree()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  if (!(await allPass(bugs, copy.folder))) return false
  const width = Math.max(...bugs.map(({ name }) => name.length))
  say(`\n${'bug'.padEnd(width)}  seconds  test that fails`)
  let isCaught = true
  for (const bug of bugs)
    for (const test of bug.tests) {
      const begun = performance.now()
      const { outcome, output } = await runWith(bug, test, copy.folder)
      if (stop.signal.aborted) return false
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1).padStart(7)
      const verdict = outcome === 'failed' ? '' : `NOT CAUGHT, it ${outcome}: `
      say(`${bug.name.padEnd(width)}  ${seconds}  ${verdict}${test.file}: ${test.name}`)
      if (outcome === 'failed') continue
      isCaught = false
      say(output)
    }
  return isCaught
}

/** Each test must pass without a bug. */
async function allPass(bugs: readonly PlantedBug[], folder: string): Promise<boolean> {
  const all = bugs.flatMap(({ tests }) => tests)
  const tests = [...new Map(all.map((test) => [`${test.file} ${test.name}`, test])).values()]
  say(`${tests.length} tests without a bug …`)
  let pass = true
  for (const test of tests) {
    const { outcome, output } = await run(test, folder)
    if (stop.signal.aborted) return false
    if (outcome === 'passed') continue
    pass = false
    say(`without a bug it ${outcome}: ${test.file}: ${test.name}\n${output}`)
  }
  return pass
}

async function runWith({ file, find, replace }: PlantedBug, test: PlantedTest, folder: string): Promise<Ran> {
  const path = join(folder, file)
  const sound = readFileSync(path, 'utf8')
  const planted = sound.replace(find, () => replace)
  writeFileSync(path, planted)
  try {
    return await run(test, folder)
  } finally {
    writeFileSync(path, sound)
  }
}

interface Ran {
  /** `did not run`: the file could not be loaded, or the test was skipped, or no test has this name. */
  outcome: 'passed' | 'failed' | 'did not run'
  output: string
}

async function run({ file, name }: PlantedTest, folder: string): Promise<Ran> {
  const pattern = `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`
  const options = ['--test-reporter=tap', `--test-timeout=${testMs}`, `--test-name-pattern=${pattern}`]
  const output = await outputOf(['--test', ...options, file], folder)
  // The reporter writes # of a name with a \, and adds the reason where a test is skipped.
  const isResult = (line: string) => line.trim().replace(/^(not )?ok \d+ - /, '') === name.replaceAll('#', '\\#')
  const result = output.split('\n').find(isResult)?.trim()
  const outcome = result === undefined ? 'did not run' : result.startsWith('not') ? 'failed' : 'passed'
  return { outcome, output: output.replace(/^/gm, '    ') }
}

/** Returns its output. It runs in a process group of its own, so that its children end with it. */
function outputOf(args: readonly string[], cwd: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const kill = () => {
    // A child that could not be started has no process group, and one that ended by itself has none any more.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  }
  const timer = setTimeout(kill, runMs)
  stop.signal.addEventListener('abort', kill)
  if (stop.signal.aborted) kill()
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => {
      clearTimeout(timer)
      stop.signal.removeEventListener('abort', kill)
      resolve(output)
    })
  })
}

/** Copies the tree as it is now, committed or not. The packages are those of the tree. */
function copyTree(): Disposable & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-planted-'))
  const left = new Set(['node_modules', '.git', '.venv', 'dist', 'filmgate-data'])
  cpSync(root, folder, { recursive: true, filter: (path) => path === root || !left.has(basename(path)) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
