import { openSlots } from '../core/shares.ts'
import type { Task } from '../core/task.ts'
import type { Lanes, WorkerLane } from './lanes.ts'
import type { Runs } from './runs.ts'

/**
 * A result that is finished is downloaded by the run that polled it: a claim for that would cost a commit and some time.
 * Only if its owner has a free share of the slots and no task waits for one, because a task that waits comes first.
 */
export function openOnward({ lanes, mayClaim }: { lanes: Lanes; mayClaim: () => boolean }) {
  return (before: Task, after: Task, active: Runs['active']): WorkerLane | undefined => {
    if (before.state === 'storing' || after.state !== 'storing' || after.deletedAt !== null) return undefined
    const lane = lanes.storingOf(after.account)
    if (!lane || !mayClaim()) return undefined
    const holders = [...active].filter((run) => run.lane === lane).map(({ task }) => task.owner)
    if (!lane.hasBacklog && openSlots(lane.worker.limit, holders).hasSlot(after.owner)) return lane
    lane.hasBacklog = true
    return undefined
  }
}
