import { createReadStream, createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isAttemptId, type OperationForm } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import type { Note } from '../core/timeline.ts'
import type { DrawnFilm } from '../media/media.ts'
import { fieldsOf } from './kit/index.ts'
import type { Cards, Member, Progress, Provider, ProviderRequest, Setting } from './provider.ts'

const name = 'studio'

const cards: Cards = [
  {
    id: 'studio',
    provider: name,
    upstreamModel: 'studio',
    description:
      'Built-in procedural renderer, for trying things out and for tests. Not a neural model. A remix or an edit is drawn again from both prompts; an extension fades from the last frame into a new scene.',
    created: 1_790_000_000,
    seconds: { min: 1, max: 20, default: 4 },
    size: { minSide: 256, maxSide: 1920, multipleOf: 2, default: '1280x720' },
    image: 'optional',
    parameters: {
      seed: {
        type: 'integer',
        minimum: 0,
        maximum: 4_294_967_295,
        description: 'The same seed gives the same video.',
      },
      caption: {
        type: 'boolean',
        description: 'Whether the video shows the prompt as a caption. The default is true.',
      },
    },
    pollAfterMs: 1_000,
    failuresBilled: false,
    makes: ['remix', 'edit', 'extension'],
    facts: {
      audio: 'never',
      imageIs: 'first frame',
      // It costs only this machine. Zero is the same in every currency.
      price: { currency: 'USD', on: '2026-11-17', source: 'built in', lines: [{ unit: 'video', price: '0' }] },
      keptMs: null,
      usuallyMs: null,
    },
  },
]

/** Each drawing takes memory, so there are only a few spare slots. */
export const studio: Member = { cards, needsNothing: true, spareSlots: 2, create: createStudio }

/** A film being drawn in this process. After a restart, the next poll finds it finished or draws it again. */
interface Drawing {
  progress: number
  outcome: 'pending' | DrawnFilm | { failure: Problem }
  /** The child has crashed or hung once while drawing it. */
  isSecondTry: boolean
  abort: AbortController
  ended: Promise<void>
}

/**
 * Draws films with the media child. Rendering is deterministic, so an operation is enough to start over. The folder has images
 * and sources of films to draw, and films that are not collected yet.
 */
export async function createStudio({ folder, media }: Setting): Promise<Provider> {
  // On a full or read-only disk the service still starts, so that stored videos can be read.
  await sweep(folder).catch((error) => {
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  })
  const drawings = new Map<string, Drawing>()
  const pathOf = (film: string, ending: string) => {
    if (!isAttemptId(film)) throw new Error('a film must have the id of an attempt')
    return join(folder, film + ending)
  }
  const filmPath = (film: string) => pathOf(film, '.mp4')
  const imagePath = (film: string) => pathOf(film, '.image')
  const sourcePath = (film: string) => pathOf(film, '.source')

  async function draw(operation: Operation, drawing: Drawing): Promise<void> {
    const { film, prompt, seconds, width, height, seed, caption, earlier } = operation
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

  /** A drawing of an earlier lease is stopped first: two drawings must not write the same file. */
  function begin(operation: Operation, isSecondTry = false): void {
    const previous = drawings.get(operation.film)
    previous?.abort.abort()
    const [abort, ended] = [new AbortController(), Promise.resolve()]
    const drawing: Drawing = { progress: 0, outcome: 'pending', isSecondTry, abort, ended }
    drawing.ended = (previous?.ended ?? Promise.resolve()).then(() => draw(operation, drawing))
    drawings.set(operation.film, drawing)
  }

  /**
   * A film is drawn a second time if the child crashed or hung. After a full disk or on an overloaded machine, the next poll
   * starts over, as often as needed.
   */
  function afterFailure(operation: Operation, { isSecondTry }: Drawing, problem: Problem): Progress {
    drawings.delete(operation.film)
    if (problem.code === 'storage_unavailable' || problem.code === 'overloaded') throw problem
    if (!problem.retryable || isSecondTry) return { status: 'failed', problem }
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
    // The id of the attempt is the film's name: the same attempt draws the same film.
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
      const film = filmOf(json)
      const drawing = drawings.get(film ?? '')
      if (!drawing && film !== undefined && (await exists(filmPath(film))))
        return { status: 'succeeded', output: { film } }
      const operation = readOperation(json)
      if (!operation) return { status: 'missing' }
      if (!drawing) begin(operation)
      if (!drawing || drawing.outcome === 'pending') return { status: 'running', progress: drawing?.progress ?? null }
      if ('failure' in drawing.outcome) return afterFailure(operation, drawing, drawing.outcome.failure)
      const words = drawing.outcome.unknownWords.join(', ')
      const note: Note | undefined = words === '' ? undefined : ['words not understood', { words }]
      return { status: 'succeeded', output: { film: operation.film }, ...(note && { note }) }
    },
    async download(output) {
      const film = filmOf(output)
      const drawn = film === undefined ? undefined : await stat(filmPath(film)).catch(() => undefined)
      if (film === undefined || !drawn) {
        drawings.delete(film ?? '')
        throw new Problem('output_unavailable', 'The film has to be drawn again.', { retryable: true })
      }
      const body = Readable.toWeb(createReadStream(filmPath(film))) as ReadableStream<Uint8Array>
      return new Response(body, { headers: { 'content-length': String(drawn.size) } })
    },
    async cancel(operation) {
      await forget(operation)
      return 'cancelled'
    },
    forget,
  }
}

/** Everything needed to draw a film, also after a restart. Its image and its source are files beside it. */
interface Operation {
  /** The id of its attempt. Any other name could be another attempt's film, or another file. */
  film: string
  prompt: string
  /** The length of the drawn part. */
  seconds: number
  width: number
  height: number
  image: boolean
  seed: number | null
  caption: boolean
  /** The prompt of the source video. */
  earlier: string | null
  source: SourceUse | null
}

/** Whether the film begins with the source, or uses one picture of it. */
type SourceUse = 'beginning' | 'image'

function operationOf(request: ProviderRequest, film: string): Operation {
  const { prompt, size, image, parameters, source } = request
  const { seed = null, caption = true } = parameters as { seed?: number; caption?: boolean }
  const extending = source?.kind === 'extension'
  return {
    film,
    prompt,
    ...size,
    image: image !== null,
    seed,
    caption,
    seconds: extending ? request.seconds - source.seconds : request.seconds,
    earlier: source?.prompt ?? null,
    source: source?.video ? (extending ? 'beginning' : 'image') : null,
  }
}

const operations: OperationForm = {
  example:
    '{"film":"<the id of the attempt>","prompt":"a red fox","seconds":4,"width":1280,"height":720,"image":false,"seed":null,"caption":true,"earlier":null,"source":null}',
  fits: (json, attempt) => readOperation(json)?.film === attempt,
}

/** Undefined if its values don't fit the card. An operation of an older version may lack what is null by default. */
function readOperation(json: Json): Operation | undefined {
  const { prompt, seconds, width, height, image, seed = null, caption, earlier = null, source = null } = fieldsOf(json)
  const film = filmOf(json)
  if (film === undefined || typeof prompt !== 'string') return undefined
  if (!isWhole(seconds, 1, 20) || !isSide(width) || !isSide(height)) return undefined
  if (typeof image !== 'boolean' || typeof caption !== 'boolean') return undefined
  if (seed !== null && !isWhole(seed, 0, 2 ** 32 - 1)) return undefined
  if (earlier !== null && typeof earlier !== 'string') return undefined
  if (source !== null && source !== 'beginning' && source !== 'image') return undefined
  return { film, prompt, seconds, width, height, image, seed, caption, earlier, source }
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

function isSide(value: unknown): value is number {
  return isWhole(value, 256, 1920) && value % 2 === 0
}

/** Undefined if it is not the name of a film. */
function filmOf(handle: Json): string | undefined {
  const { film } = fieldsOf(handle)
  return isAttemptId(film) ? film : undefined
}

/** Removes unfinished films of an earlier process: they are drawn again. A finished film stays until it is forgotten. */
async function sweep(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const file of await readdir(folder)) {
    if (file.endsWith('.part')) await rm(join(folder, file), { force: true })
  }
}

/** A failed write leaves no file: a failed submit is not repeated under the same name, so nothing would remove it. */
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
