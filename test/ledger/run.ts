import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { seeded } from '../../src/stores/contract/world.ts'
import type { Step } from './lives.ts'
import { type Found, judge } from './reference.ts'

/* Random lives of tasks with prices, in processes that are killed, against the reference. */

/** A database that the processes share. */
export interface LedgerDatabase {
  /** The first argument of a process. */
  place: string
  /** One row of one statement: a snapshot. */
  row(sql: string): Promise<Record<string, unknown>>
  read(): Promise<Found>
  /** The leases of a process that was killed. */
  release(): Promise<void>
}

interface RunOptions {
  database: LedgerDatabase
  processes: number
  /** About how many changes of the ledger. */
  operations: number
  kills: number
  seed: number
}

/** Of operations for each life: it is admitted or refused, and about two steps. */
const stepsEach = 2

export async function runLedger({ database, processes, operations, kills, seed }: RunOptions) {
  const random = seeded(seed)
  const count = Math.ceil(operations / stepsEach)
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-ledger-'))
  const done = { admitted: new Set<number>(), refused: new Set<number>(), ended: new Set<number>() }
  const counts = { operations: 0, kills: 0, checks: 0, admitted: 0, refused: 0, busy: 0 }
  const violations: string[] = []
  let next = 0
  const pending = new Set<number>()
  const each = Math.ceil(count / Math.max(1, kills))

  function note(step: Step | 'busy', number: number): void {
    if (step === 'busy') counts.busy += 1
    else if (step !== 'ended') counts.operations += 1
    if (step === 'admitted' || step === 'refused') done[step].add(number)
    if (step !== 'refused' && step !== 'ended') return
    done.ended.add(number)
    pending.delete(number)
  }

  async function check(): Promise<void> {
    const { sum, wrong, counters, revenue, cost } = await database.row(invariants)
    counts.checks += 1
    if (Number(sum) !== 0) violations.push(`the sum of all entries is ${sum}`)
    if (Number(wrong) !== 0) violations.push(`${wrong} balances are on the wrong side of 0`)
    if (Number(counters) !== 0) violations.push(`${counters} counters differ from their entries`)
    if (Number(revenue) !== 0) violations.push(`the revenue of all usage differs by ${revenue} from the ledger`)
    if (Number(cost) !== 0) violations.push(`the cost of all usage differs by ${cost} from the ledger`)
  }

  try {
    while ((next < count || pending.size > 0) && violations.length === 0) {
      for (const end = Math.min(count, next + each); next < end; next += 1) pending.add(next)
      const shares = Array.from({ length: processes }, (): number[] => [])
      for (const [at, number] of [...pending].entries()) shares[at % processes]?.push(number)
      const victim = counts.kills < kills ? random(processes) : -1
      const runs = shares.map((numbers, at) => {
        const file = join(folder, `${at}.json`)
        writeFileSync(file, JSON.stringify(numbers))
        const killAfter = at === victim ? 1 + random(Math.max(1, numbers.length * stepsEach)) : Number.POSITIVE_INFINITY
        return startProcess(database.place, file, { killAfter, note })
      })
      const all = Promise.all(runs.map(({ ended }) => ended))
      await Promise.all(runs.map(({ ready }) => ready))
      for (const { begin } of runs) begin()
      const watching = watch(all, check)
      for (const end of await all) {
        if (end.killed) counts.kills += 1
        else if (end.code !== 0) violations.push(`a process failed: ${end.stderr.slice(-2_000)}`)
      }
      await watching
      await database.release()
      await check()
    }
    violations.push(...judge(await database.read(), done, count).slice(0, 20))
  } finally {
    rmSync(folder, { recursive: true })
  }
  return { ...counts, admitted: done.admitted.size, refused: done.refused.size, violations }
}

/**
 * In one statement, so that it is one moment: the sum, balances on the wrong side of 0, counters that are wrong, and usage that
 * differs from the ledger.
 */
const invariants = `SELECT
  (SELECT coalesce(sum(amount), 0) FROM entries) AS sum,
  (SELECT count(*) FROM (SELECT account, sum(amount) AS balance FROM entries GROUP BY account) AS balances
   WHERE CASE WHEN account LIKE 'funds %' OR account LIKE 'providers %' THEN balance > 0 ELSE balance < 0 END) AS wrong,
  (SELECT count(*) FROM spends WHERE amount <> (
     SELECT coalesce(-sum(entries.amount), 0) FROM entries
     WHERE entries.account = 'funds ' || spends.scope AND entries.currency = spends.currency
       AND entries.submitted_at >= spends.starts AND entries.submitted_at < spends.ends)) AS counters,
  (SELECT coalesce(sum(revenue), 0) FROM usages) - (
     SELECT coalesce(sum(amount), 0) FROM entries WHERE account LIKE 'revenue %') AS revenue,
  (SELECT coalesce(sum(cost), 0) FROM usages) - (
     SELECT coalesce(sum(amount), 0) FROM entries WHERE account LIKE 'cost %') AS cost`

/** Checks again and again until the work has ended. */
async function watch(work: Promise<unknown>, check: () => Promise<void>): Promise<void> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const begun = performance.now()
    await check()
    // A check reads all entries: it must not take most of the time when these are many.
    const pause = Math.max(300, 5 * (performance.now() - begun))
    await Promise.race([over, setTimeout(pause)])
  }
}

interface Ended {
  killed: boolean
  code: number | null
  stderr: string
}

interface LedgerProcess {
  ready: Promise<void>
  begin(): void
  ended: Promise<Ended>
}

function startProcess(
  place: string,
  work: string,
  { killAfter, note }: { killAfter: number; note: (step: Step | 'busy', number: number) => void },
): LedgerProcess {
  const program = join(import.meta.dirname, 'process.ts')
  const child: ChildProcess = spawn(process.execPath, [program, place, work], { stdio: 'pipe' })
  const ready = Promise.withResolvers<void>()
  let [lines, stderr, killed] = [0, '', false]
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const read = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  read.on('line', (line) => {
    const [step = '', number = ''] = line.split(' ')
    if (step === 'ready') return ready.resolve()
    note(step as Step | 'busy', Number(number))
    lines += 1
    if (lines < killAfter || killed) return
    killed = true
    child.kill('SIGKILL')
  })
  const ended = Promise.all([once(child, 'close'), once(read, 'close')]).then(([[code]]) => {
    ready.resolve()
    return { killed, code, stderr } as Ended
  })
  return { ready: ready.promise, begin: () => void child.stdin?.on('error', () => {}).write('go\n'), ended }
}

/** That many submits at once in each of several processes. Returns how many were admitted. */
export async function spendBudget(place: string, processes: number, submits: number): Promise<number> {
  let admitted = 0
  const note = (step: string) => {
    if (step === 'admitted') admitted += 1
  }
  const runs = Array.from({ length: processes }, () =>
    startProcess(place, `budget:${submits / processes}`, { killAfter: Number.POSITIVE_INFINITY, note }),
  )
  await Promise.all(runs.map(({ ready }) => ready))
  for (const { begin } of runs) begin()
  for (const { code, stderr } of await Promise.all(runs.map(({ ended }) => ended)))
    if (code !== 0) throw new Error(`a process failed: ${stderr}`)
  return admitted
}
