import { isLocalName } from '../core/account.ts'
import type { Lane, Store } from '../stores/store.ts'
import type { Worker } from '../workers/worker.ts'
import type { EngineOptions } from './options.ts'

/** Tasks that wait in one line for one worker. A line that is stuck holds up no other. */
export interface WorkerLane {
  worker: Worker
  where: Lane | 'queue'
  /** What is due is left alone for so long: its own process comes first. */
  lagMs: number
}

export interface Lanes {
  readonly all: readonly WorkerLane[]
  /** Lays those of accounts that others have begun to use: now and then, since it asks the store. */
  extend(now: number): Promise<void>
  /** When each lane has something to do. One question for all: there are three lanes for each account. */
  nextDues(): Promise<Map<WorkerLane, number | undefined>>
}

/** A process that has not looked after its task for so long is gone. */
const goneMs = 15_000

/** Tasks of an account that nobody here configured wait at most this much longer for their deadline. */
const extendMs = 30_000

/** One for each state; where an account is asked, one for each account, so that a slow one holds up nobody else's. */
export async function openLanes({ store, workers, rehome, tools, clock }: EngineOptions): Promise<Lanes> {
  const lanes = lanesOf(workers)
  const known = new Set<string>()
  let extended = clock.now()
  const lay = (accounts: Iterable<string>) => {
    for (const account of accounts) {
      if (known.has(account)) continue
      known.add(account)
      // Also that of a store which was this process's own, and moved.
      const moved = [...tools.accounts.keys()].some((own) => own.startsWith(`${account}@`))
      const foreign = (isLocalName(account) || moved) && !tools.accounts.has(account)
      lanes.push(...(foreign ? lanesOfAccount([rehome], account, goneMs) : lanesOfAccount(workers, account)))
    }
  }
  lay([...tools.accounts.keys(), ...(await store.accountsInUse())])

  return {
    all: lanes,
    async extend(now) {
      // The clock may have been set back.
      if (Math.abs(now - extended) < extendMs) return
      extended = now
      lay(await store.accountsInUse())
    },
    nextDues: () => nextDues(store, lanes),
  }
}

function lanesOf(workers: readonly Worker[]): WorkerLane[] {
  return workers.flatMap((worker) =>
    worker.states.flatMap((state): WorkerLane[] => {
      switch (state) {
        case 'queued':
          return [
            { worker, where: 'queue', lagMs: 0 },
            { worker, where: { state: 'overdue' }, lagMs: 0 },
          ]
        case 'held':
        case 'running':
        case 'storing':
          return []
        default:
          return [{ worker, where: { state }, lagMs: 0 }]
      }
    }),
  )
}

function lanesOfAccount(workers: readonly Worker[], account: string, lagMs = 0): WorkerLane[] {
  return workers.flatMap((worker) =>
    worker.states
      .filter((state) => state === 'held' || state === 'running' || state === 'storing')
      .map((state) => ({ worker, where: { state, account }, lagMs })),
  )
}

async function nextDues(store: Store, lanes: readonly WorkerLane[]): Promise<Map<WorkerLane, number | undefined>> {
  const asked = lanes.flatMap((lane) => (lane.where === 'queue' ? [] : [{ lane, where: lane.where }]))
  const dues = await store.nextDue(asked.map(({ where }) => where))
  return new Map(asked.map(({ lane }, at) => [lane, dues[at]]))
}
