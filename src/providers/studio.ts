import { createReadStream, createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isAttemptId } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import type { Note } from '../core/timeline.ts'
import type { DrawnFilm, Media } from '../media/media.ts'
import type { Cards, Progress, Provider } from './provider.ts'
import { filmOf, type Operation, operationOf, operations } from './studio/operation.ts'

export interface StudioOptions {
  /** Its own folder: images and sources of films to draw, and films that are not collected yet. */
  folder: string
  media: Media
}

const name = 'studio'

export const studioCards: Cards = [
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

/** A film being drawn in this process. After a restart there is none: the next poll finds it done, or draws it again. */
interface Drawing {
  progress: number
  outcome: 'pending' | DrawnFilm | { failure: Problem }
  /** The child crashed or hung over it once already. */
  again: boolean
  abort: AbortController
  ended: Promise<void>
}

/** Draws films with the media child. Rendering is deterministic, so an operation is all it takes to start over. */
export async function createStudio({ folder, media }: StudioOptions): Promise<Provider> {
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
