import { dealOut, openRotation, openSlots, type Rotation } from '../core/shares.ts'
import type { Task } from '../core/task.ts'
import type { Lane, OwnerClaim, SharedLane, Store } from '../stores/store.ts'
import type { WorkerLane } from './lanes.ts'
import type { Runs } from './runs.ts'

export function isShared(lane: Lane): lane is SharedLane {
  return lane.state === 'fetching' || lane.state === 'storing'
}

/**
 * Claims in a lane that owners share: an owner whose tasks are slow leaves slots to the others. Slots are counted in this
 * process alone, as its limit is: each process on a shared store has slots for every owner.
 */
export function openShares(store: Store, runs: Pick<Runs, 'active'>) {
  const rotations = new WeakMap<WorkerLane, Rotation>()

  return async (
    lane: WorkerLane,
    where: SharedLane,
    times: { now: number; leaseUntil: number },
  ): Promise<readonly Task[]> => {
    const rotation = rotations.get(lane) ?? openRotation()
    rotations.set(lane, rotation)
    const owners = rotation.inTurn(await store.dueOwners(where, times.now))
    const holders = [...runs.active].filter((run) => run.lane === lane).map(({ task }) => task.owner)
    const shares = sharesOf(owners, lane.worker.limit, holders)
    const tasks = shares.length === 0 ? [] : await store.claimShares(where, shares, times)
    for (const { owner } of tasks) rotation.serve(owner)
    return tasks
  }
}

function sharesOf(owners: readonly string[], limit: number, holders: readonly string[]): OwnerClaim[] {
  const slots = openSlots(limit, holders)
  const shares = new Map<string, number>()
  dealOut(owners, (owner) => {
    if (!slots.hasRoom(owner)) return false
    slots.take(owner)
    shares.set(owner, (shares.get(owner) ?? 0) + 1)
    return true
  })
  return [...shares].map(([owner, limit]) => ({ owner, limit }))
}
