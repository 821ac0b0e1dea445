import { isAttemptId, type OperationForm } from '../../core/attempt.ts'
import type { Json } from '../../core/task.ts'
import type { ProviderRequest } from '../provider.ts'

/** All that it takes to draw a film, or to draw it again after a restart; its image and its source lie beside it. */
export interface Operation {
  /** It has the name of its attempt: any other would be another's film, or another file. */
  film: string
  prompt: string
  /** How long the part is that is drawn. */
  seconds: number
  width: number
  height: number
  image: boolean
  seed: number | null
  caption: boolean
  /** The prompt of what it changes or continues. One that was begun by an older version has neither this nor a source. */
  earlier?: string | null
  source?: SourceUse | null
}

/** Whether the source comes first, or lends the film a picture. */
export type SourceUse = 'beginning' | 'image'

export function operationOf(request: ProviderRequest, film: string): Operation {
  const { prompt, size, image, parameters, source } = request
  const { seed = null, caption = true } = parameters as { seed?: number; caption?: boolean }
  const extending = source?.kind === 'extension'
  return {
    ...{ film, prompt, ...size, image: image !== null, seed, caption },
    seconds: extending ? request.seconds - source.seconds : request.seconds,
    earlier: source?.prompt ?? null,
    source: source?.video ? (extending ? 'beginning' : 'image') : null,
  }
}

export const operations: OperationForm = {
  example:
    '{"film":"<the id of the attempt>","prompt":"a red fox","seconds":4,"width":1280,"height":720,"image":false,"seed":null,"caption":true,"earlier":null,"source":null}',
  fits(json, attempt) {
    if (filmOf(json) !== attempt) return false
    const { prompt, seconds, width, height, image, seed, caption, earlier, source } = json as unknown as Operation
    const isWhole = (value: unknown, least: number, most: number) =>
      Number.isInteger(value) && Number(value) >= least && Number(value) <= most
    const isSide = (value: unknown) => isWhole(value, 256, 1920) && Number(value) % 2 === 0
    return (
      typeof prompt === 'string' &&
      isWhole(seconds, 1, 20) &&
      isSide(width) &&
      isSide(height) &&
      typeof image === 'boolean' &&
      typeof caption === 'boolean' &&
      (seed === null || isWhole(seed, 0, 2 ** 32 - 1)) &&
      (earlier === undefined || earlier === null || typeof earlier === 'string') &&
      [undefined, null, 'beginning', 'image'].includes(source)
    )
  },
}

/** Undefined where it is no name for a film. */
export function filmOf(handle: Json): string | undefined {
  const { film } = (handle ?? {}) as { film?: Json }
  return isAttemptId(film) ? film : undefined
}
