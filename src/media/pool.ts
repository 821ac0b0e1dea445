import { rm, stat } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Job, type Lane, openLane } from './lane.ts'
import type { Media } from './media.ts'
import { partOf, type Request } from './protocol.ts'

export interface MediaPool extends Media {
  /** The processes alive now and what each is doing; null is idle. */
  children(): { pid: number; job: Request['kind'] | null }[]
}

export interface MediaOptions {
  clock: Clock
  /** How many films are drawn side by side, and how many videos of others are decoded. */
  renderers: number
  verifiers?: number
}

const renderSilenceMs = 60_000
const inspectSilenceMs = 10_000
const verifySilenceMs = 60_000
/** A slow machine decodes more than this of a video in a second. */
const verifyBytesPerMs = 1000

/**
 * One lane for each sort of job: a queue of films delays no submit, and neither does a large video that is verified.
 * Children start when they are needed and go when they were idle for 30 s.
 */
export function openMedia({ clock, renderers, verifiers = 1 }: MediaOptions): MediaPool {
  const lanes = {
    ...{ render: openLane(clock, renderers), verify: openLane(clock, verifiers) },
    ...{ inspect: openLane(clock, 2), still: openLane(clock, 2) },
  }
  const all: Lane[] = Object.values(lanes)
  return {
    async render(film, onProgress, signal) {
      const job = { request: { kind: 'render', film } as const, silenceMs: renderSilenceMs, onProgress, lost: filmLost }
      try {
        await lanes.render.run(job, signal)
      } catch (thrown) {
        // The child is gone or done with it: what it leaves of the film is of no use.
        await rm(partOf(film), { force: true })
        throw thrown
      }
    },
    async verify(path, signal) {
      const request = { kind: 'verify', path } as const
      const facts = await lanes.verify.run(await jobOf(request), signal)
      if (!facts || facts instanceof Uint8Array) throw wrongAnswer(request)
      return facts
    },
    async inspect(image, signal) {
      const request = { kind: 'inspect', image } as const
      let losses = 0
      const lost = (cause: string, killed: boolean) => {
        losses += 1
        return imageLost(cause, killed)
      }
      const job = { request, silenceMs: inspectSilenceMs, onProgress: () => {}, lost }
      try {
        await lanes.inspect.run(job, signal)
      } catch (thrown) {
        // Once may be chance; an image over which a second child crashes is to blame itself.
        if (losses === 0) throw thrown
        await lanes.inspect.run(job, signal)
      }
    },
    async still(path, kind, signal) {
      const request = { kind, path } as const
      const picture = await lanes.still.run(await jobOf(request), signal)
      if (!(picture instanceof Uint8Array)) throw wrongAnswer(request)
      return picture
    },
    children: () => all.flatMap((lane) => lane.children()),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((lane) => lane[Symbol.asyncDispose]()))
    },
  }
}

/** A job that may have to decode the whole file. */
async function jobOf(request: Request & { path: string }): Promise<Job> {
  const { size } = await stat(request.path)
  const silenceMs = verifySilenceMs + size / verifyBytesPerMs
  return { request, silenceMs, onProgress: () => {}, lost: videoLost }
}

function wrongAnswer({ kind }: Request): Problem {
  return new Problem('internal', 'Something went wrong on our side.', {
    cause: `${kind} was answered with something else`,
  })
}

function filmLost(cause: string): Problem {
  return new Problem('generation_failed', 'The video could not be made this time.', { cause, retryable: true })
}

/** The file is most likely hostile; but a paid video is worth a second look. */
function videoLost(cause: string, killed: boolean): Problem {
  if (killed) return shortOfMemory(cause)
  return new Problem('unsupported_output', 'The video cannot be used. It could not be decoded.', {
    cause,
    retryable: true,
  })
}

function imageLost(cause: string, killed: boolean): Problem {
  if (killed) return shortOfMemory(cause)
  return new Problem('invalid_image', 'The image cannot be used. It could not be decoded.', { cause })
}

/** The machine took the child away. That says nothing about what it was looking at, which has until its deadline. */
function shortOfMemory(cause: string): Problem {
  const message = 'The service is too busy to look at this right now. Try again shortly.'
  return new Problem('overloaded', message, { cause: new Error(cause), retryable: true })
}
