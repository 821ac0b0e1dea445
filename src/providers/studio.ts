import { createReadStream, createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isAttemptId, type OperationForm } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import type { Note } from '../core/timeline.ts'
import type { DrawnFilm } from '../media/media.ts'
import type { Cards, Member, Progress, Provider, ProviderRequest, Setting } from './provider.ts'

const name = 'studio'

const cards: Cards = [
  {
    id: 'studio',
    provider: name,
    upstreamModel: 'studio',
    description:
      'Built-in procedural renderer, for trying things out and for tests. Not a neural model. A remix or an edit is drawn anew from both prompts; an extension fades from the last picture into a new scene.',
    created: 1_790_000_000,
    seconds: { min: 1, max: 20, default: 4 },
    size: { minSide: 256, maxSide: 1920, multipleOf: 2, default: '1280x720' },
    image: 'optional',
    parameters: {
      seed: {
        type: 'integer',
        minimum: 0,
        maximum: 4_294_967_295,
        description: 'The same seed makes the same film again.',
      },
      caption: {
        type: 'boolean',
        description: 'Whether the prompt is written into the film; true if you leave it out.',
      },
    },
    pollAfterMs: 1_000,
    failuresBilled: false,
    makes: ['remix', 'edit', 'extension'],
  },
]

/** Each film that is drawn takes memory, so that the spare slots are few. */
export const studio: Member = { cards, needsNothing: true, spareSlots: 2, create: createStudio }

/** A film being drawn in this process. After a restart there is none: the next poll finds it done, or draws it again. */
interface Drawing {
  progress: number
  outcome: 'pending' | DrawnFilm | { failure: Problem }
  /** The child crashed or hung over it once already. */
  again: boolean
  abort: AbortController
  ended: Promise<void>
}

/**
 * Draws films with the media child. Rendering is deterministic, so an operation is all it takes to start over. Its folder has
 * images and sources of films to draw, and films that are not collected yet.
 */
export async function createStudio({ folder, media }: Setting): Promise<Provider> {
  // A disk that is full or can only be read keeps nobody from the films that are stored.
  await sweep(folder).catch((error) => {
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  })
  const drawings = new Map<string, Drawing>()
  const pathOf = (film: string, ending: string) => {
    if (!isAttemptId(film)) throw new Error('this is no name for a film')
    return join(folder, film + ending)
  }
  const filmPath = (film: string) => pathOf(film, '.mp4')
  const imagePath = (film: string) => pathOf(film, '.image')
  const sourcePath = (film: string) => pathOf(film, '.source')

  async function draw(operation: Operation, drawing: Drawing): Promise<void> {
    const { film, prompt, seconds, width, height, seed, caption, earlier = null } = operation
    const image = operation.image ? { path: imagePath(film) } : null
    const source = operation.source ? { path: sourcePath(film), as: operation.source } : null
    const words = { prompt, earlier, caption }
    const job = { path: filmPath(film), ...words, seconds, size: { width, height }, image, source, seed }
    const report = (percent: number) => {
      drawing.progress = percent
    }
    try {
      await mkdir(folder, { recursive: true })
      drawing.outcome = await media.render(job, report, drawing.abort.signal)
    } catch (thrown) {
      drawing.outcome = { failure: Problem.from(thrown) }
    }
  }

  /** A drawing that goes on from an earlier lease is stopped first: two must not write one file. */
  function begin(operation: Operation, again = false): void {
    const previous = drawings.get(operation.film)
    previous?.abort.abort()
    const [abort, ended] = [new AbortController(), Promise.resolve()]
    const drawing: Drawing = { progress: 0, outcome: 'pending', again, abort, ended }
    drawing.ended = (previous?.ended ?? Promise.resolve()).then(() => draw(operation, drawing))
    drawings.set(operation.film, drawing)
  }

  /**
   * A film over which the child crashed or hung is drawn once more. A full disk and a machine that is too busy end nothing:
   * the next poll begins anew.
   */
  function afterFailure(operation: Operation, { again }: Drawing, problem: Problem): Progress {
    drawings.delete(operation.film)
    if (problem.code === 'storage_unavailable' || problem.code === 'overloaded') throw problem
    if (!problem.retryable || again) return { status: 'failed', problem }
    begin(operation, true)
    return { status: 'running', progress: null }
  }

  async function forget(operation: Json): Promise<void> {
    const film = filmOf(operation)
    if (film === undefined) return
    const drawing = drawings.get(film)
    drawing?.abort.abort()
    await drawing?.ended
    drawings.delete(film)
    for (const path of [filmPath(film), imagePath(film), sourcePath(film)]) await rm(path, { force: true })
  }

  return {
    name,
    cadenceMs: 300,
    // The attempt is the film's name: the same one again is the same film.
    recovery: 'key',
    operations,
    async submit(request, { attemptId }) {
      const operation = operationOf(request, attemptId)
      const [image, source] = [imagePath(attemptId), sourcePath(attemptId)]
      await mkdir(folder, { recursive: true })
      if (request.image) await keep(image, Readable.from([request.image.bytes]))
      if (request.source?.video) await keep(source, await request.source.video())
      begin(operation)
      return { operation: { ...operation } }
    },
    async poll(json) {
      if (filmOf(json) === undefined) return { status: 'missing' }
      const operation = json as unknown as Operation
      const drawing = drawings.get(operation.film)
      if (!drawing && (await exists(filmPath(operation.film))))
        return { status: 'succeeded', output: { film: operation.film } }
      if (!drawing) begin(operation)
      if (!drawing || drawing.outcome === 'pending') return { status: 'running', progress: drawing?.progress ?? null }
      if ('failure' in drawing.outcome) return afterFailure(operation, drawing, drawing.outcome.failure)
      const words = drawing.outcome.unknownWords.join(', ')
      const note: Note | undefined = words === '' ? undefined : ['words not understood', { words }]
      return { status: 'succeeded', output: { film: operation.film }, ...(note && { note }) }
    },
    async download(output) {
      const film = filmOf(output)
      if (film === undefined || !(await exists(filmPath(film)))) {
        drawings.delete(film ?? '')
        throw new Problem('output_unavailable', 'The film has to be drawn again.', { retryable: true })
      }
      return new Response(Readable.toWeb(createReadStream(filmPath(film))) as ReadableStream<Uint8Array>)
    },
    async cancel(operation) {
      await forget(operation)
      return 'cancelled'
    },
    forget,
  }
}

/** All that it takes to draw a film, or to draw it again after a restart; its image and its source lie beside it. */
interface Operation {
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
type SourceUse = 'beginning' | 'image'

function operationOf(request: ProviderRequest, film: string): Operation {
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

const operations: OperationForm = {
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
function filmOf(handle: Json): string | undefined {
  const { film } = (handle ?? {}) as { film?: Json }
  return isAttemptId(film) ? film : undefined
}

/** What an earlier process had not finished is drawn again; what has its name is whole, and stays until it is forgotten. */
async function sweep(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const file of await readdir(folder)) {
    if (file.endsWith('.part')) await rm(join(folder, file), { force: true })
  }
}

/** Half of it would be left for good: a submit that fails is not sent again under the same name. */
async function keep(path: string, bytes: Readable): Promise<void> {
  try {
    await pipeline(bytes, createWriteStream(path, { flush: true }))
  } catch (thrown) {
    await rm(path, { force: true })
    throw thrown
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
