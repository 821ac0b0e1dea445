import type { OperatorTask } from '../../src/wire/operator.ts'
import { isUnfinished, type VideoRow } from './videos.ts'

/* Where the time of a video went, and what happened to it on the way. */

type StageKind = 'queued' | 'submitting' | 'held' | 'running' | 'storing' | 'retry' | 'delivery' | 'whole'

export interface Stage {
  kind: StageKind
  from: number
  until: number
  /** Only in the words below the picture. */
  isAside?: boolean
}

/** The kind of stage that an event of the timeline begins. Others are within a stage. */
const begins: Readonly<Record<string, StageKind | 'end'>> = {
  ...{ queued: 'queued', 'attempt opened': 'submitting', held: 'held', running: 'running', storing: 'storing' },
  ...{ completed: 'end', failed: 'end' },
}

/** The event before a video whose result can't be used is `running` again: the model does not generate it again. */
const unusable = 'result unusable: requesting a new link'

/**
 * Where the time went. A client knows only when a video began and when it was completed: nothing is known about one that
 * failed.
 */
export function stagesOf(row: VideoRow, task: OperatorTask | null, now = Date.now()): Stage[] {
  if (!task) {
    const until = row.completedAt ?? (isUnfinished(row) ? now : null)
    if (until === null) return []
    return [{ kind: row.status === 'queued' ? 'queued' : 'whole', from: row.createdAt, until }]
  }
  const stages: Stage[] = []
  let current: { kind: StageKind; from: number } | null = { kind: 'queued', from: row.createdAt }
  let [wasSent, isUnusable] = [false, false]
  for (const { name, at } of task.timeline) {
    if (name === unusable) isUnusable = true
    const begun = begins[name]
    const isRetry: boolean = (begun === 'queued' && wasSent) || (begun === 'running' && isUnusable)
    const next: StageKind | 'end' | undefined = isRetry ? 'retry' : begun
    if (next === undefined || next === current?.kind) continue
    ;[wasSent, isUnusable] = [wasSent || next === 'submitting', false]
    const time = Date.parse(at)
    if (current) stages.push({ ...current, until: time })
    current = next === 'end' ? null : { kind: next, from: time }
  }
  if (current) stages.push({ ...current, until: Math.max(now, current.from) })
  return [...stages, ...deliveryOf(task, now)]
}

/**
 * Until the last of its owner's webhook endpoints has accepted the end. One that never does is tried for days: in the picture, nothing else
 * would be seen beside it.
 */
function deliveryOf({ deliveries }: OperatorTask, now: number): Stage[] {
  const [first] = deliveries
  if (!first) return []
  const from = Date.parse(first.created_at)
  const ends = deliveries.map(({ ended_at: ended }) => (ended === null ? now : Date.parse(ended)))
  const isDone = deliveries.every(({ state }) => state === 'delivered')
  return [{ kind: 'delivery', from, until: Math.max(from, ...ends), ...(!isDone && { isAside: true }) }]
}

/** How long each kind of stage took in all, in the order in which they began. */
export function sumsOf(stages: readonly Stage[]): { kind: StageKind; ms: number; isAside: boolean }[] {
  return [...Map.groupBy(stages, ({ kind }) => kind)].map(([kind, ones]) => ({
    kind,
    ms: ones.reduce((all, { from, until }) => all + until - from, 0),
    isAside: ones.some(({ isAside }) => isAside),
  }))
}

/** Something that happened within a stage, once or several times in a row. */
export interface Happening {
  name: string
  count: number
  first: number
  last: number
  message: string | null
  /** The cause and what to do about it. */
  why: string | null
}

/** These are stages, or have a place of their own on the page. */
const elsewhere = [...Object.keys(begins), 'fetching', 'warning', 'attempt accepted']

export function happeningsOf({ timeline }: Pick<OperatorTask, 'timeline'>): Happening[] {
  const found: Happening[] = []
  for (const { name, at, detail } of timeline) {
    if (elsewhere.includes(name)) continue
    const [time, { message, why }] = [Date.parse(at), readDetail(detail)]
    const before = found.at(-1)
    if (before?.name === name && before.message === message && before.why === why)
      Object.assign(before, { count: before.count + 1, last: time })
    else found.push({ name, count: 1, first: time, last: time, message, why })
  }
  return found
}

/** The detail of an event is any JSON: mostly a text, or an error. */
function readDetail(detail: unknown): Pick<Happening, 'message' | 'why'> {
  if (detail === null || detail === undefined || detail === '') return { message: null, why: null }
  if (typeof detail !== 'object') return { message: String(detail), why: null }
  const { message, why } = detail as { message?: unknown; why?: unknown }
  return {
    message: typeof message === 'string' ? message : JSON.stringify(detail),
    why: typeof why === 'string' ? why : null,
  }
}
