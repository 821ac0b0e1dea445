import {
  type Catalog,
  type CatalogEntry,
  formatSize,
  type ModelCard,
  mayUse,
  parseSize,
  takesSeconds,
  takesSize,
  whatItTakes,
} from './catalog.ts'
import { Problem } from './problem.ts'
import type { Asset, Size, SourceKind, Task } from './task.ts'
import type { Token } from './token.ts'

/** OpenAI's own limit for what a video may grow to. */
export const longestSeconds = 120
/** The longest prompt that a request may have. */
const mostCharacters = 32_000

/** What another video is made of, as far as a request can say it. `param`: where it said so. */
export interface Material {
  seconds: number
  size: Size
  param: string
}

/** What an uploaded video may be for it to be decoded. */
export interface UploadLimits {
  side: number
  seconds: number
  frames: number
}

/** No model takes more: a video that exceeds this is refused by what its boxes say. The model's own rules come after. */
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

/** A model that would leave the source out must not be asked, and perhaps paid, for a film of it. */
export function requireMaker({ card }: CatalogEntry, kind: SourceKind, catalog: Catalog, token: Token): void {
  if (card.makes?.includes(kind)) return
  const others = [...catalog.entries.values()].filter(
    (entry) => entry.name === entry.card.id && mayUse(token, entry) && entry.card.makes?.includes(kind),
  )
  const can = others.map(({ name }) => name).join(', ') || 'none here'
  const message = `Model '${card.id}' can't ${verbs[kind]} videos. Models that can: ${can}.`
  throw new Problem('invalid_value', message, { param: 'model' })
}

/** The bytes of a video that another can be made of. Throws `video_not_usable` where it has none, or none any more. */
export function requireFilm(
  task: Pick<Task, 'id' | 'state' | 'video' | 'expiresAt'>,
  param: string,
  now: number,
): Asset {
  const { id, state, video, expiresAt } = task
  if (state === 'completed' && video !== null && (expiresAt ?? 0) > now) return video
  if (state === 'completed') throw expired(id, param)
  const reason =
    state === 'failed'
      ? 'has failed: there is nothing to make another of'
      : "is not ready yet: wait until its status is 'completed'"
  throw new Problem('video_not_usable', `Video '${id}' ${reason}.`, { param })
}

export function expired(id: string, param: string): Problem {
  return new Problem('video_not_usable', `Video '${id}' has expired: its bytes are gone.`, { param })
}

/** How long the film is that the model makes of it: as long as its source, or `more` seconds longer. */
export function fitSource(card: ModelCard, { seconds, size, param }: Material, more: number | null): number {
  const takes = whatItTakes(card)
  const shape = formatSize(size)
  if (!takesSize(card.size, shape))
    throw new Problem('invalid_value', `The video has ${shape} pixels. ${takes.size}`, { param })
  if (more === null && !takesSeconds(card.seconds, seconds))
    throw new Problem('invalid_value', `The video has ${seconds} seconds. ${takes.seconds}`, { param })
  const total = seconds + (more ?? 0)
  if (more === null || total <= longestSeconds) return total
  const left = longestSeconds - seconds
  const fix = left > 0 ? `extend it by at most ${left}` : 'it can not be extended any more'
  const message = `The whole would have ${total} seconds, and ${longestSeconds} is the most: the video has ${seconds}, so ${fix}.`
  throw new Problem('invalid_value', message, { param: 'seconds' })
}

/** All that led to a video, the last word first, as the prompt of a film that is made of it. */
export function promptsOf({ prompt, source }: Pick<Task, 'prompt' | 'source'>): string {
  return source?.prompt ? `${prompt}. ${source.prompt}`.slice(0, mostCharacters) : prompt
}
