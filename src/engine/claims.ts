import { acceptsTasks } from '../core/account.ts'
import { newTasksAllowed } from '../core/health.ts'
import { orderRoutes } from '../core/routing.ts'
import { openRotation, openSlots, type Rotation, takeInRounds } from '../core/shares.ts'
import { leaseMs, renewMs } from '../core/timing.ts'
import type { QueueCard } from '../core/turns.ts'
import type { Lane, LeaseStore, OwnerClaim, SharedLane } from '../stores/store.ts'
import type { Lanes, WorkerLane } from './lanes.ts'
import { type EngineOptions, idleMs } from './options.ts'
import type { Runs } from './runs.ts'

/**
 * After a claim in a lane, the next one follows this soon, because more may be due. A run that ends wakes us earlier. Beside
 * other processes, both times may be longer (`core/bell.ts`).
 */
const crowdedMs = 100

/**
 * Polls that become due within this time are claimed together: a claim and a commit for each would cost a fifth more CPU.
 * A provider is polled every few seconds, so a poll may be that late.
 */
const gatherMs = 50

/** Starts what is due, and returns the time until something else is. `mayClaim` is checked before each claim. */
export function openClaims(
  { store, tools, healths, access, clock, random }: EngineOptions,
  { lanes, runs, mayClaim }: { lanes: Lanes; runs: Runs; mayClaim: () => boolean },
): () => Promise<number> {
  const claimShares = openShares(store, runs)
  /** When the last due poll of a lane was claimed. */
  const gatheredAt = new WeakMap<WorkerLane, number>()

  /** Returns the time until the lane has something else to do. */
  async function claimIn(
    lane: WorkerLane,
    limit: number,
    now: number,
    due = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    const leaseUntil = now + leaseMs
    if (lane.where === 'queue') {
      const cards = openCards(now, lane)
      const ownerCaps = access.ownerCaps(now)
      const { tasks, nextDue } = await store.claimQueued({ cards, ownerCaps, limit, now, leaseUntil })
      for (const task of tasks) runs.begin(task, lane)
      return (nextDue ?? Number.POSITIVE_INFINITY) - now
    }
    const dueBy = now - lane.lagMs
    if (due > dueBy) {
      lane.hasBacklog = false
      return due - dueBy
    }
    const gathering = (gatheredAt.get(lane) ?? Number.NEGATIVE_INFINITY) + gatherMs - now
    // The clock may have been set back.
    if (gathering > 0 && gathering <= gatherMs) return gathering
    const times = { now: dueBy, leaseUntil }
    if (isShared(lane.where)) {
      await claimShares(lane, lane.where, times)
      return crowdedMs
    }
    const tasks = await store.claim({ ...lane.where, limit, ...times })
    if (lane.where.state === 'running' && tasks.length < limit) gatheredAt.set(lane, now)
    for (const task of tasks) runs.begin(task, lane)
    return crowdedMs
  }

  /** Every card with the accounts that have a free slot now, the preferred one first. */
  function openCards(now: number, queue: WorkerLane): QueueCard[] {
    const inQueue = [...runs.active].filter(({ lane }) => lane === queue)
    const sending = Map.groupBy(inQueue, ({ task }) => task.account)
    const cards = new Set([...tools.catalog.entries.values()].map(({ card }) => card))
    return [...cards].map((card) => ({
      card: card.id,
      cap: card.concurrency,
      accounts: orderRoutes(card.routes, random).flatMap(({ account: name }) => {
        const account = tools.accounts.get(name)
        const limit =
          account && acceptsTasks(account) ? Math.min(queue.worker.limit, newTasksAllowed(account.health, now)) : 0
        const maxNewTasks = limit - (sending.get(name)?.length ?? 0)
        if (!account || maxNewTasks <= 0) return []
        return [{ name, cap: account.concurrency, maxNewTasks, spare: account.spareSlots }]
      }),
    }))
  }

  function limitOf({ where, worker }: WorkerLane): number {
    const account = where !== 'queue' && 'account' in where ? tools.accounts.get(where.account) : undefined
    return (account && worker.limitFor?.(account.concurrency)) ?? worker.limit
  }

  let learntAt = Number.NEGATIVE_INFINITY
  async function learnHealths(): Promise<void> {
    if (Math.abs(clock.now() - learntAt) < idleMs) return
    learntAt = clock.now()
    await healths.refresh()
  }

  return async () => {
    // After a stall, or if the clock was set ahead, our own leases seem to have ended: they are renewed before any claim,
    // and all claims use the time of this moment.
    const now = clock.now()
    if (Math.abs(now - runs.renewedAt) > 2 * renewMs) await runs.renew()
    await learnHealths()
    await lanes.extend(now)
    const busy = new Map<WorkerLane, number>()
    for (const { lane } of runs.active) busy.set(lane, (busy.get(lane) ?? 0) + 1)
    const dues = await lanes.nextDues()
    // All at once, so that a store can batch them: there are three lanes for each account.
    const delays = lanes.all.map(async (lane) => {
      // All accounts share the queue, and each has a limit of its own: one that hangs must not use up the others' slots.
      const freeSlots = lane.where === 'queue' ? lane.worker.limit : limitOf(lane) - (busy.get(lane) ?? 0)
      if (freeSlots <= 0 || !mayClaim()) return idleMs
      return Math.max(gatherMs, await claimIn(lane, freeSlots, now, dues.get(lane)))
    })
    // Waits for all claims, even if one fails: none may still run during the next round, or during a drain.
    const settled = await Promise.allSettled(delays)
    const failed = settled.find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
    return Math.min(idleMs, ...settled.map((result) => (result.status === 'fulfilled' ? result.value : idleMs)))
  }
}

function isShared(lane: Lane): lane is SharedLane {
  return lane.state === 'fetching' || lane.state === 'storing'
}

/**
 * Claims in a lane that owners share, so that an owner with slow tasks leaves slots to the others. The limit and the slots
 * are those of this process: each process on a shared store has slots for every owner.
 */
function openShares(store: LeaseStore, runs: Pick<Runs, 'active' | 'begin'>) {
  const rotations = new WeakMap<WorkerLane, Rotation>()

  return async (lane: WorkerLane, where: SharedLane, times: { now: number; leaseUntil: number }): Promise<void> => {
    // Until these tasks have begun, no other may take the slots that they get.
    lane.hasBacklog = true
    const rotation = rotations.get(lane) ?? openRotation()
    rotations.set(lane, rotation)
    const owners = rotation.inTurn(await store.dueOwners(where, times.now))
    const holders = [...runs.active].filter((run) => run.lane === lane).map(({ task }) => task.owner)
    const shares = sharesOf(owners, lane.worker.limit, holders)
    const tasks = shares.length === 0 ? [] : await store.claimShares(where, shares, times)
    for (const task of tasks) {
      rotation.serve(task.owner)
      runs.begin(task, lane)
    }
    const claimable = shares.reduce((sum, { limit }) => sum + limit, 0)
    lane.hasBacklog = shares.length < owners.length || tasks.length === claimable
  }
}

function sharesOf(owners: readonly string[], limit: number, holders: readonly string[]): OwnerClaim[] {
  const slots = openSlots(limit, holders)
  const shares = new Map<string, number>()
  takeInRounds(owners, (owner) => {
    if (!slots.hasSlot(owner)) return false
    slots.take(owner)
    shares.set(owner, (shares.get(owner) ?? 0) + 1)
    return true
  })
  return [...shares].map(([owner, limit]) => ({ owner, limit }))
}
