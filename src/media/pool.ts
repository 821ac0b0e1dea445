import { rm, stat } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Job, type Lane, type Loss, openLane } from './lane.ts'
import type { Film, Media } from './media.ts'
import { partOf, type Request, tooBusy } from './protocol.ts'

export interface MediaPool extends Media {
  /** The processes alive now and what each is doing; null is idle. */
  children(): { pid: number; job: Request['kind'] | null }[]
}

export interface MediaOptions {
  clock: Clock
  /** How many films are drawn side by side. */
  renderers: number
  /** Of the machine: as many results of providers are decoded side by side, and one owner's images leave one free. */
  cores?: number
}

/** The dearest image that is accepted takes little more than a second of CPU time. */
const inspectSilence = { cpuMs: 10_000, wallMs: 60_000 }
const renderSilence = silenceOf(60_000)
/** A film that takes longer to draw than the default one yields to shorter ones, and to all other jobs. */
const longPixels = 4 * 1_280 * 720
const longNice = 15
const verifyCpuMs = 60_000
/** Uploads have a lane of their own, so that none of them keeps a result waiting. One slot is left for other owners. */
const checksAtOnce = 2
const uploadLine = { mostHeld: 1, mostWaiting: 8, what: 'uploaded videos' }
/** A slow machine decodes more than this of a video in a second. */
const verifyBytesPerMs = 1000

/**
 * The third slot is for those whom one owner would keep waiting, and so is one core. As for the line: enough for the many
 * that one client sends at once, and few enough that the last need not wait until it gives up.
 */
const inspectors = 3
const imageLine = (cores: number) => ({ mostHeld: cores > 2 ? 2 : 1, mostWaiting: 128, what: 'images' })

/** Films wait for a slot of their account, stills for one of the API: both are in turns by owner already. */
const anyOwner = ''

/**
 * One lane for each sort of job: a queue of films delays no submit, and neither does a large video that is verified.
 * Children start when they are needed and go when they were idle for 30 s.
 */
export function openMedia({ clock, renderers, cores = 1 }: MediaOptions): MediaPool {
  const lanes = {
    ...{ render: openLane({ clock, width: renderers }), long: openLane({ clock, width: renderers, nice: longNice }) },
    ...{ verify: openLane({ clock, width: cores }), still: openLane({ clock, width: 2, hasSpare: true }) },
    inspect: openLane({ clock, width: inspectors, line: imageLine(cores) }),
    check: openLane({ clock, width: checksAtOnce, line: uploadLine }),
  }
  const all: Lane[] = Object.values(lanes)
  return {
    async render(film, onProgress, signal) {
      const request = { kind: 'render', film } as const
      const job = { request, owner: anyOwner, silence: renderSilence, onProgress, lost: filmLost }
      try {
        const drawn = await (isLong(film) ? lanes.long : lanes.render).run(job, signal)
        if (!drawn || !('unknownWords' in drawn)) throw wrongAnswer(request)
        return drawn
      } catch (thrown) {
        // The child is gone or done with it: what it leaves of the film is of no use.
        await rm(partOf(film), { force: true })
        throw thrown
      }
    },
    async verify(path, owner, signal) {
      const request = { kind: 'verify', path } as const
      const facts = await lanes.verify.run(await jobOf(request, owner), signal)
      if (!facts || !('codec' in facts)) throw wrongAnswer(request)
      return facts
    },
    async check(path, limits, owner, signal) {
      const request = { kind: 'check', path, limits } as const
      const facts = await lanes.check.run(await jobOf(request, owner), signal)
      if (!facts || !('codec' in facts)) throw wrongAnswer(request)
      return facts
    },
    async inspect(image, owner, signal) {
      const request = { kind: 'inspect', image } as const
      let loss: Loss | null = null
      const lost = (cause: string, how: Loss) => {
        loss = how
        return imageLost(cause, how)
      }
      const job = { request, owner, silence: inspectSilence, onProgress: () => {}, lost }
      try {
        await lanes.inspect.run(job, signal)
      } catch (thrown) {
        // It may have died of what an earlier image left in it. One that hung or starved would do so again.
        if (loss !== 'crashed' && loss !== 'killed') throw thrown
        await lanes.inspect.run(job, signal)
      }
    },
    async still(path, kind, signal) {
      const request = { kind, path } as const
      const picture = await lanes.still.run(await jobOf(request, anyOwner), signal)
      if (!(picture instanceof Uint8Array)) throw wrongAnswer(request)
      return picture
    },
    children: () => all.flatMap((lane) => lane.children()),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((lane) => lane[Symbol.asyncDispose]()))
    },
  }
}

function isLong({ seconds, size }: Film): boolean {
  return seconds * size.width * size.height > longPixels
}

/** A job that may have to decode the whole file. */
async function jobOf(request: Request & { path: string }, owner: string): Promise<Job> {
  const { size } = await stat(request.path)
  const silence = silenceOf(verifyCpuMs + size / verifyBytesPerMs)
  return { request, owner, silence, onProgress: () => {}, lost: videoLost }
}

/** A child that gets less than a tenth of a core for so long is given up. */
function silenceOf(cpuMs: number): Job['silence'] {
  return { cpuMs, wallMs: 10 * cpuMs }
}

function wrongAnswer({ kind }: Request): Problem {
  return new Problem('internal', 'Something went wrong on our side.', {
    cause: `${kind} was answered with something else`,
  })
}

function filmLost(cause: string, loss: Loss): Problem {
  if (isOfMachine(loss)) return tooBusy(new Error(cause))
  return new Problem('generation_failed', 'The video could not be generated this time.', { cause, retryable: true })
}

/** The file is most likely hostile; but a paid video is worth a second look. */
function videoLost(cause: string, loss: Loss): Problem {
  if (isOfMachine(loss)) return tooBusy(new Error(cause))
  return new Problem('unsupported_output', 'The video cannot be used. It could not be decoded.', {
    cause,
    retryable: true,
  })
}

/** Not `invalid_image`: only a decoder that says so knows that. */
function imageLost(cause: string, loss: Loss): Problem {
  if (isOfMachine(loss)) return tooBusy(new Error(cause))
  const message = 'The image could not be checked. Try again, or send another image.'
  return new Problem('image_unavailable', message, { cause: new Error(cause), retryable: loss !== 'hung' })
}

function isOfMachine(loss: Loss): boolean {
  return loss === 'killed' || loss === 'starved'
}
