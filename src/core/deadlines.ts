import type { ModelCard } from './catalog.ts'
import { Problem } from './problem.ts'

/** The fields of a request that shorten its deadlines, in whole seconds from now. */
export const deadlineFields = ['start_within', 'finish_within'] as const

export type RequestedDeadlines = Partial<Record<(typeof deadlineFields)[number], string | number>>

/** When a task must have started and ended: the times of the model, or sooner if the request says so. */
export function fitDeadlines({ deadlines }: ModelCard, requested: RequestedDeadlines, now: number) {
  const finishMs = shorten('finish_within', requested, deadlines.totalMs)
  const startMs = Math.min(finishMs, shorten('start_within', requested, deadlines.startMs))
  return { startBy: now + startMs, finishBy: now + finishMs }
}

function shorten(field: keyof RequestedDeadlines, requested: RequestedDeadlines, longestMs: number): number {
  const given = requested[field]
  if (given === undefined) return longestMs
  const longest = Math.floor(longestMs / 1000)
  const seconds = /^[1-9]\d{0,8}$/.test(String(given)) ? Number(given) : Number.NaN
  if (seconds <= longest) return seconds * 1000
  const message = `Invalid '${field}': expected whole seconds from 1 to ${longest}.`
  throw new Problem('invalid_value', message, { param: field })
}
