import type { Lane, Store } from '../stores/store.ts'
import type { Worker } from '../workers/worker.ts'

/** Tasks that wait in one line for one worker. A line that is stuck holds up no other. */
export interface WorkerLane {
  worker: Worker
  where: Lane | 'queue'
}

/** One for each state; where an account is asked, one for each account, so that a slow one holds up nobody else's. */
export function layLanes(workers: readonly Worker[], accounts: Iterable<string>): WorkerLane[] {
  const names = [...accounts]
  return workers.flatMap((worker) =>
    worker.states.flatMap((state): WorkerLane[] => {
      switch (state) {
        case 'queued':
          return [
            { worker, where: 'queue' },
            { worker, where: { state: 'overdue' } },
          ]
        case 'held':
        case 'running':
        case 'storing':
          return names.map((account) => ({ worker, where: { state, account } }))
        default:
          return [{ worker, where: { state } }]
      }
    }),
  )
}

/** When each lane has something to do. One question for all: there are three lanes for each account. */
export async function nextDues(
  store: Store,
  lanes: readonly WorkerLane[],
): Promise<Map<WorkerLane, number | undefined>> {
  const asked = lanes.flatMap((lane) => (lane.where === 'queue' ? [] : [{ lane, where: lane.where }]))
  const dues = await store.nextDue(asked.map(({ where }) => where))
  return new Map(asked.map(({ lane }, at) => [lane, dues[at]]))
}
