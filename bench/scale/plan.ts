import type { Costs } from '../costs.ts'
import { type Assumptions, type Demand, demandOf } from './demand.ts'

/** One database and its processes; there are `installations` of them, each with tokens of its own. */
interface Plan {
  installations: number
  api: number
  workers: number
  databaseCores: number
  pooled: boolean
}

/** How much of a resource is used, of 1. `more`: whether more of it can be added. */
export type Use = { resource: string; share: number; more: boolean }

export interface Step {
  tasksPerDay: number
  /** At the peak, over all installations. */
  perSecond: number
  plan: Plan
  uses: Use[]
  /** The use by this load if the plan of the step before stays. */
  before: Use[]
  claims: Claims
  connections: number
  demand: Demand
}

/** The pool of `src/stores/postgres/database.ts`, and one connection that listens, except behind a pooler. */
const [pool, listening] = [8, 1]
/** The limits of `src/workers/submit.ts` and `src/workers/collect.ts`: at once, in one worker, for one account. */
const [submits, collects] = [64, 32]
/** All processes are notified of a task when it is new, accepted, generated and ended. */
const notificationsPerTask = 4
/** A worker decodes as many videos at once as it has cores (`cores` in `src/main.ts`): the smallest one, one. */
export const decodersOfWorker = 1

const byItself: Plan = { installations: 1, api: 1, workers: 1, databaseCores: 2, pooled: false }

interface Model {
  costs: Costs
  given: Assumptions
  /** Child processes of a worker that decode. */
  decoders: number
}

export function planSteps(model: Model, days: readonly number[]): Step[] {
  const steps: Step[] = []
  for (const tasksPerDay of days) {
    const perSecond = (tasksPerDay / 86_400) * model.given.peak
    const before = usesOf(model, steps.at(-1)?.plan ?? byItself, perSecond).uses
    const plan = smallest(model, perSecond)
    const { uses, claims, connections, demand } = usesOf(model, plan, perSecond)
    steps.push({ tasksPerDay, perSecond, plan, uses, before, claims, connections, demand })
  }
  return steps
}

/** With as few installations as possible: each is one more to run. */
function smallest(model: Model, perSecond: number): Plan {
  for (let installations = 1; ; installations = Math.ceil(installations * 1.05 + 0.01)) {
    const plan = sizeOf(model, installations, perSecond / installations)
    const { uses } = usesOf(model, plan, perSecond)
    if (uses.every(({ share }) => share <= model.given.target)) return plan
    if (installations > 1_000) throw new Error('no number of installations is enough')
  }
}

function sizeOf({ costs, given, decoders }: Model, installations: number, perSecond: number): Plan {
  const demand = demandOf(costs, given)
  const enough = (cores: number) => Math.max(1, Math.ceil(cores / given.target))
  const [api, workers] = [
    enough(perSecond * demand.api),
    enough(perSecond * Math.max(demand.worker, demand.decoder / decoders)),
  ]
  const pooled = (api + workers) * (pool + listening) > given.connections.direct * given.target
  const plan = { installations, api, workers, databaseCores: 2, pooled }
  const { looking } = claimsOf({ costs, given, decoders }, plan, perSecond)
  const cores = Math.max(2, enough(perSecond * demand.database + looking))
  return { ...plan, databaseCores: Math.min(cores, given.databaseCores) }
}

function usesOf(model: Model, plan: Plan, allPerSecond: number) {
  const { costs, given, decoders } = model
  const { api, workers, databaseCores, installations, pooled } = plan
  const perSecond = allPerSecond / installations
  const demand = demandOf(costs, given)
  const claims = claimsOf(model, plan, perSecond)
  const connections = (api + workers) * (pool + (pooled ? 0 : listening))
  // In each round a worker begins as many downloads as it has free slots.
  const collectsPerSecond = (workers * collects * given.accounts * 1000) / Math.max(claims.cycleMs, given.answerMs)
  const uses: Use[] = [
    { resource: 'CPU of the API', share: (perSecond * demand.api) / api, more: true },
    { resource: 'CPU of the workers', share: (perSecond * demand.worker) / workers, more: true },
    { resource: 'decoding of videos', share: (perSecond * demand.decoder) / (workers * decoders), more: true },
    { resource: 'slots for downloads', share: perSecond / collectsPerSecond, more: true },
    {
      resource: 'CPU of the database',
      share: (perSecond * demand.database + claims.looking) / databaseCores,
      more: databaseCores < given.databaseCores,
    },
    { resource: 'log of the database', share: (perSecond * demand.walBytes) / given.walBytesPerSecond, more: false },
    { resource: 'connections', share: connections / given.connections[pooled ? 'pooled' : 'direct'], more: !pooled },
    { resource: 'claims of an account', share: perSecond / given.accounts / claims.mostPerSecond, more: false },
  ]
  return { uses: uses.sort((a, b) => b.share - a.share), claims, connections, demand }
}

/** How claims go on: processes do not wait for each other, but one at a time claims for an account. */
interface Claims {
  /** How many tasks can be claimed for one account, by one process after the other. */
  mostPerSecond: number
  /** The time between two rounds of a worker. */
  cycleMs: number
  /** Cores of the database that are used by rounds that find nothing. */
  looking: number
}

/** A worker that is not woken looks this often (`src/engine/options.ts`). */
const idleMs = 1_000
/**
 * Rounds of a worker that is woken are on average `roundMs` × workers apart, up to `longestMeanMs`; or five times as far as a
 * round takes if that is more, up to `longestRoundMs` (`src/core/bell.ts`).
 */
const [roundMs, longestMeanMs, longestRoundMs] = [50, 200, 250]

function claimsOf(model: Model, { workers, pooled }: Plan, perSecond: number): Claims {
  const { given, costs } = model
  const demand = demandOf(costs, given)
  const slots = (perSecond * given.jobMs) / 1000 / given.accounts
  const busy = Math.min(0.99, (perSecond * demand.worker) / workers)
  const tripMs = given.tripMs + (given.turnMs * busy) / (1 - busy)
  // A worker is woken by its own runs and, unless a pooler is in between, by the changes of others.
  const rings = (perSecond * demand.runs) / workers + (pooled ? 0 : perSecond * notificationsPerTask)
  const usualMs = Math.min(longestMeanMs, roundMs * workers)
  const restMs = Math.min(longestRoundMs, Math.max(usualMs, 5 * (given.thinkMs + tripMs)))
  const cycleMs = Math.max(restMs, Math.min(idleMs, 1000 / rings))
  const claimMs = costs.claim.baseMs + costs.claim.taskMs * submits + costs.claim.slotMs * slots + trips * tripMs
  return {
    mostPerSecond: (submits * 1000) / claimMs,
    cycleMs,
    looking: (workers * costs.claim.emptyMs) / cycleMs,
  }
}

/** Round trips to the database of a claim that has its locks, in `src/stores/postgres/queue.ts`. */
const trips = 4
