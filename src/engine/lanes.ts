import { isLocalName } from '../core/account.ts'
import { Problem } from '../core/problem.ts'
import type { Lane, LeaseStore } from '../stores/store.ts'
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
  /**
   * Says that this process lives, which is said before anything is claimed. Lays the lanes of accounts that were added;
   * and now and then, since it asks the store, of those that others have begun to use. Takes up those that nobody uses.
   */
  extend(now: number): Promise<void>
  /** When each lane has something to do. One question for all: there are three lanes for each account. */
  nextDues(): Promise<Map<WorkerLane, number | undefined>>
}

/**
 * What its own process left alone for so long, it does not come back to, now that it is gone. That of an earlier release
 * says nothing of itself: it is told by this alone.
 */
const leftMs = 15_000

/** Tasks of an account that nobody here configured wait at most this much longer for their deadline. */
const extendMs = 30_000

/** One for each state; where an account is asked, one for each account, so that a slow one holds up nobody else's. */
export async function openLanes({ store, workers, rehome, tools, clock, healths }: EngineOptions): Promise<Lanes> {
  const common = lanesOf(workers)
  const laid = new Map<string, WorkerLane[]>()
  let extended = clock.now()

  const isForeign = (account: string) => isLocalName(account) && !tools.accounts.has(account)
  /** Of a store that was one process's own, and moved: nobody is called so any more. */
  const isNobodys = (account: string) => [...tools.accounts.keys()].some((own) => own.startsWith(`${account}@`))
  const layOne = (account: string) => {
    if (isNobodys(account)) return lanesOfAccount([rehome], account)
    return isForeign(account) ? lanesOfAccount([rehome], account, leftMs) : lanesOfAccount(workers, account)
  }
  const lay = async () => {
    const wanted = new Set([...tools.accounts.keys(), ...(await store.accountsInUse())])
    // Each worker that is replaced has a name of its own: with all there ever were, every look would cost more.
    for (const account of laid.keys()) if (!wanted.has(account)) laid.delete(account)
    // A lane that stays is the same: what runs in it is counted.
    for (const account of wanted) if (!laid.has(account)) laid.set(account, layOne(account))
  }
  /** A process that lives looks after its own, however long they have to wait for it. */
  const open = () => [
    ...common,
    ...[...laid].flatMap(([account, lanes]) => (isForeign(account) && !healths.isGone(account) ? [] : lanes)),
  ]
  // It is said again before anything is claimed.
  await healths.beat().catch((error) => {
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  })
  await lay()

  return {
    get all() {
      return open()
    },
    async extend(now) {
      await healths.beat()
      const isAdded = [...tools.accounts.keys()].some((account) => !laid.has(account))
      // The clock may have been set back.
      if (!isAdded && Math.abs(now - extended) < extendMs) return
      extended = now
      await lay()
    },
    nextDues: () => nextDues(store, open()),
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

async function nextDues(store: LeaseStore, lanes: readonly WorkerLane[]): Promise<Map<WorkerLane, number | undefined>> {
  const asked = lanes.flatMap((lane) => (lane.where === 'queue' ? [] : [{ lane, where: lane.where }]))
  const dues = await store.nextDue(asked.map(({ where }) => where))
  return new Map(asked.map(({ lane }, at) => [lane, dues[at]]))
}
