import {
  acceptsSeconds,
  acceptsSize,
  type Catalog,
  type CatalogEntry,
  describeLimits,
  formatSize,
  type ModelCard,
  mayUse,
  parseSize,
} from './catalog.ts'
import { Problem } from './problem.ts'
import { type Asset, maxPromptLength, type Size, type SourceKind, type Task } from './task.ts'
import type { Token } from './token.ts'

/** OpenAI's limit for an extended video. */
export const longestSeconds = 120
/** The largest video in a request. */
export const maxVideoMiB = 50

/** The source of a derived video, as its request names it in the field `param`. */
export interface SourceVideo {
  seconds: number
  size: Size
  param: string
}

/** The limits of an uploaded video. Larger ones are not decoded. */
export interface UploadLimits {
  side: number
  seconds: number
  frames: number
}

/** No model accepts more: a larger video is refused by its MP4 header alone. The rules of the model are checked later. */
export function uploadLimits({ size, seconds }: ModelCard, kind: SourceKind): UploadLimits {
  const sides = 'values' in size ? size.values.map(parseSize) : [{ width: size.maxSide, height: size.maxSide }]
  const longest = 'values' in seconds ? Math.max(...seconds.values) : seconds.max
  return {
    side: Math.max(...sides.map((each) => Math.max(each?.width ?? 0, each?.height ?? 0))),
    seconds: kind === 'extension' ? longestSeconds : longest,
    frames: longestSeconds * 60,
  }
}

const verbs = { remix: 'remix', edit: 'edit', extension: 'extend' } as const

/** A model that ignores the source must not be used, and perhaps paid, for a derived video. */
export function requireSourceSupport({ card }: CatalogEntry, kind: SourceKind, catalog: Catalog, token: Token): void {
  if (card.makes?.includes(kind)) return
  const others = [...catalog.entries.values()].filter(
    (entry) => entry.name === entry.card.id && mayUse(token, entry) && entry.card.makes?.includes(kind),
  )
  const names = others.map(({ name }) => name).join(', ')
  const fix = names ? `Models that can: ${names}.` : 'You have no access to a model that can.'
  const message = `Model '${card.id}' can't ${verbs[kind]} videos. ${fix}`
  throw new Problem('invalid_value', message, { param: 'model' })
}

/** The bytes of a source video. Throws `video_not_usable` if it has none, or has expired. */
export function requireSourceVideo(
  task: Pick<Task, 'id' | 'state' | 'video' | 'expiresAt'>,
  param: string,
  now: number,
): Asset {
  const { id, state, video, expiresAt } = task
  if (state === 'completed' && video !== null && (expiresAt ?? 0) > now) return video
  if (state === 'completed') throw expired(id, param)
  const reason =
    state === 'failed'
      ? 'has failed: it has no content to use'
      : "is not ready yet: wait until its status is 'completed'"
  throw new Problem('video_not_usable', `Video '${id}' ${reason}.`, { param })
}

export function expired(id: string, param: string): Problem {
  return new Problem('video_not_usable', `Video '${id}' has expired: its content was removed.`, { param })
}

/** The length of the derived video: that of its source, or `more` seconds longer. */
export function fitSource(card: ModelCard, { seconds, size, param }: SourceVideo, more: number | null): number {
  const limits = describeLimits(card)
  const shape = formatSize(size)
  if (!acceptsSize(card.size, shape))
    throw new Problem('invalid_value', `The video has ${shape} pixels. ${limits.size}`, { param })
  if (more === null && !acceptsSeconds(card.seconds, seconds))
    throw new Problem('invalid_value', `The video has ${seconds} seconds. ${limits.seconds}`, { param })
  const total = seconds + (more ?? 0)
  if (more === null || total <= longestSeconds) return total
  const left = longestSeconds - seconds
  const fix = left > 0 ? `Extend it by at most ${left}.` : "It can't be extended any more."
  const message = `The extended video would have ${total} seconds. The limit is ${longestSeconds}, and the video has ${seconds}. ${fix}`
  throw new Problem('invalid_value', message, { param: 'seconds' })
}

/** All prompts that led to a video, the last one first: the source prompt of a video derived from it. */
export function combinedPrompts({ prompt, source }: Pick<Task, 'prompt' | 'source'>): string {
  return source?.prompt ? `${prompt}. ${source.prompt}`.slice(0, maxPromptLength) : prompt
}
