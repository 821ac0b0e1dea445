import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { Problem } from '../../src/core/problem.ts'
import { capsAt } from '../../src/core/spend.ts'
import { newTask } from '../../src/stores/contract/world.ts'
import { openPostgres, openSqlite } from '../../src/stores/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { live } from './lives.ts'

/*
 * A process of its own that lives lives on a store, until it has lived all or is killed: node process.ts PLACE WORK. WORK is a
 * file with the numbers of the lives, or `budget:N`: N submits at once of an owner that may pay for ten. It begins after a line
 * on stdin, and writes a line for each step, after its commit.
 */

const [place = '', work = ''] = process.argv.slice(2)
/** Several processes share a PostgreSQL. */
const atOnce = place.startsWith('postgres:') ? 12 : 48

function openStore(): Promise<Store> {
  const onFatal = (error: Error) => {
    throw error
  }
  if (!place.startsWith('postgres:')) return openSqlite({ folder: place, now: Date.now(), onFatal })
  const sleep = (ms: number, signal?: AbortSignal) =>
    setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
  return openPostgres({ url: place, monotonic: () => performance.now(), sleep, name: String(process.pid), onFatal })
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

/** Under load the database may refuse to wait any longer: the rest of the life is lived later, as a client repeats it. */
async function patiently<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (Problem.from(error).code !== 'storage_unavailable' || tries === 20) throw error
      say('busy')
      await setTimeout(50)
    }
  }
}

async function liveAll(store: Store, numbers: number[]): Promise<void> {
  const worker = async () => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
      const one = number
      await patiently(() => live(store, one, (step) => say(`${step} ${one}`)))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

async function spendBudget(store: Store, count: number): Promise<void> {
  const price = { currency: 'USD', charge: 3_000_000, cost: null, billsFailures: false }
  const createdAt = Date.UTC(2026, 10, 17)
  const submits = Array.from({ length: count }, async (_, at) => {
    const task = newTask(`9${process.pid}${String(at).padStart(4, '0')}`, { price, createdAt, owner: 'budget' })
    const caps = capsAt([{ period: 'day', limit: 30_000_000, zone: 'UTC' }], task)
    const isAdmitted = await patiently(() => store.insert(task, caps)).then(
      () => true,
      (error) => {
        if (Problem.from(error).code !== 'insufficient_quota') throw error
        return false
      },
    )
    say(`${isAdmitted ? 'admitted' : 'refused'} ${at}`)
  })
  await Promise.all(submits)
}

await using store = await openStore()
say('ready')
for await (const _line of createInterface({ input: process.stdin })) break
process.stdin.destroy()
const budget = /^budget:(\d+)$/.exec(work)
if (budget) await spendBudget(store, Number(budget[1]))
else await liveAll(store, JSON.parse(readFileSync(work, 'utf8')))
