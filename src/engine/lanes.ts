import { isLocalName } from '../core/account.ts'
import { Problem } from '../core/problem.ts'
import type { Lane, LeaseStore } from '../stores/store.ts'
import type { Worker } from '../workers/worker.ts'
import type { EngineOptions } from './options.ts'

/** A queue of tasks for one worker. A slow lane does not delay another one. */
export interface WorkerLane {
  worker: Worker
  where: Lane | 'queue'
  /** A task is claimed only when it is overdue by this much, so that the process that owns it comes first. */
  lagMs: number
  /** Tasks wait in it for a slot, as far as this process knows. */
  hasBacklog: boolean
}

export interface Lanes {
  readonly all: readonly WorkerLane[]
  /**
   * Reports that this process is alive, which must precede every claim. Opens the lanes of accounts that were added.
   * Every `extendMs` it also reads from the store which accounts have tasks, and drops the lanes of all others.
   */
  extend(now: number): Promise<void>
  /** The lane that downloads the results of an account. Undefined if another process does, or if it is paused. */
  storingOf(account: string | null): WorkerLane | undefined
  /** When each lane has a task due, in one query: there are three lanes for each account. */
  nextDues(): Promise<Map<WorkerLane, number | undefined>>
}

/**
 * How overdue a task of another process must be before it is taken over. A process of an earlier release does not report
 * that it is alive: this delay is the only sign that it is gone.
 */
const foreignLagMs = 15_000

/** How often the store is asked which accounts have tasks: an account that is not configured here may have some. */
const extendMs = 30_000

/** One lane for each state; for states with an account, one for each account, so that a slow one delays no other. */
export async function openLanes({ store, workers, rehome, tools, clock, healths }: EngineOptions): Promise<Lanes> {
  const common = lanesOf(workers)
  const byAccount = new Map<string, WorkerLane[]>()
  let extendedAt = clock.now()

  const isForeign = (account: string) => isLocalName(account) && !tools.accounts.has(account)
  /** Its name is from before the store was shared: no process has it any more. */
  const isOrphanedAccount = (account: string) => [...tools.accounts.keys()].some((own) => own.startsWith(`${account}@`))
  const openAccount = (account: string) => {
    if (isOrphanedAccount(account)) return lanesOfAccount([rehome], account)
    return isForeign(account) ? lanesOfAccount([rehome], account, foreignLagMs) : lanesOfAccount(workers, account)
  }
  const update = async () => {
    const wanted = new Set([...tools.accounts.keys(), ...(await store.accountsInUse())])
    // Each restarted worker has another name: if old lanes stayed, each claim would cost more.
    for (const account of byAccount.keys()) if (!wanted.has(account)) byAccount.delete(account)
    // A lane that stays must be the same object: the runs in it are counted.
    for (const account of wanted) if (!byAccount.has(account)) byAccount.set(account, openAccount(account))
  }
  /** An operator decided that nothing is sent to it. */
  const isPaused = (account: string) => tools.accounts.get(account)?.mode === 'paused'
  /** Lanes of another process are left to it while it is alive, however late it is. */
  const isClosed = (account: string) => isPaused(account) || (isForeign(account) && !healths.isGone(account))
  const openLanesNow = () => [
    ...common,
    ...[...byAccount].flatMap(([account, lanes]) => (isClosed(account) ? [] : lanes)),
  ]
  // May fail: `extend` beats again before anything is claimed.
  await healths.beat().catch((error) => {
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  })
  await update()

  return {
    get all() {
      return openLanesNow()
    },
    async extend(now) {
      await healths.beat()
      const isAdded = [...tools.accounts.keys()].some((account) => !byAccount.has(account))
      // The clock may have been set back.
      if (!isAdded && Math.abs(now - extendedAt) < extendMs) return
      extendedAt = now
      await update()
    },
    storingOf(account) {
      const name = account ?? ''
      if (isPaused(name) || isForeign(name) || isOrphanedAccount(name)) return undefined
      return byAccount.get(name)?.find(({ where }) => where !== 'queue' && where.state === 'storing')
    },
    nextDues: () => nextDues(store, openLanesNow()),
  }
}

function lanesOf(workers: readonly Worker[]): WorkerLane[] {
  return workers.flatMap((worker) =>
    worker.states.flatMap((state): WorkerLane[] => {
      switch (state) {
        case 'queued':
          return [
            { worker, where: 'queue', lagMs: 0, hasBacklog: false },
            { worker, where: { state: 'overdue' }, lagMs: 0, hasBacklog: false },
          ]
        case 'held':
        case 'running':
        case 'storing':
          return []
        default:
          return [{ worker, where: { state }, lagMs: 0, hasBacklog: false }]
      }
    }),
  )
}

function lanesOfAccount(workers: readonly Worker[], account: string, lagMs = 0): WorkerLane[] {
  return workers.flatMap((worker) =>
    worker.states
      .filter((state) => state === 'held' || state === 'running' || state === 'storing')
      .map((state) => ({ worker, where: { state, account }, lagMs, hasBacklog: false })),
  )
}

async function nextDues(store: LeaseStore, lanes: readonly WorkerLane[]): Promise<Map<WorkerLane, number | undefined>> {
  const asked = lanes.flatMap((lane) => (lane.where === 'queue' ? [] : [{ lane, where: lane.where }]))
  const dues = await store.nextDue(asked.map(({ where }) => where))
  return new Map(asked.map(({ lane }, at) => [lane, dues[at]]))
}
