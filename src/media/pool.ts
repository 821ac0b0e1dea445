import { rm, stat } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type ChildPool, type Job, type Loss, openChildPool } from './child-pool.ts'
import type { Film, Media } from './media.ts'
import { type JobRequest, partOf, tooBusy } from './protocol.ts'

export interface MediaPool extends Media {
  /** The running processes and their jobs; null is idle. */
  children(): { pid: number; job: JobRequest['kind'] | null }[]
}

interface MediaOptions {
  clock: Clock
  /** How many films are drawn in parallel. */
  renderers: number
  /** Of the machine: as many results of providers are decoded in parallel, and one owner's images leave one core free. */
  cores?: number
}

/** The slowest image that is accepted takes little more than a second of CPU time. */
const inspectSilence = { cpuMs: 10_000, wallMs: 60_000 }
const renderSilence = silenceOf(60_000)
/** A film that takes longer to draw than the default one has a lower priority than all other jobs. */
const longPixels = 4 * 1_280 * 720
const longNice = 15
const verifyCpuMs = 60_000
/** Uploads have a pool of their own, so that they never delay a result. One slot stays free for other owners. */
const checksAtOnce = 2
const uploadQueue = { mostHeld: 1, mostWaiting: 8, what: 'uploaded videos' }
/** A slow machine decodes more than this in a millisecond. */
const verifyBytesPerMs = 1000

/**
 * The third slot and one core stay free for other owners. The queue of an owner has room for the many images that one
 * client sends at once, and is short enough that the last one does not time out.
 */
const inspectors = 3
const imageQueue = (cores: number) => ({ mostHeld: cores > 2 ? 2 : 1, mostWaiting: 128, what: 'images' })

/** Films wait for a slot of their account, stills for one of the API: both already take turns by owner. */
const anyOwner = ''

/**
 * One pool for each sort of job: neither a queue of films nor a large video delays a submit. Children start on demand
 * and end after 30 s without a job.
 */
export function openMedia({ clock, renderers, cores = 1 }: MediaOptions): MediaPool {
  const pools = {
    render: openChildPool({ clock, width: renderers }),
    long: openChildPool({ clock, width: renderers, nice: longNice }),
    verify: openChildPool({ clock, width: cores }),
    still: openChildPool({ clock, width: 2, hasSpare: true }),
    inspect: openChildPool({ clock, width: inspectors, queue: imageQueue(cores) }),
    check: openChildPool({ clock, width: checksAtOnce, queue: uploadQueue }),
  }
  const all: ChildPool[] = Object.values(pools)
  return {
    async render(film, onProgress, signal) {
      const request = { kind: 'render', film } as const
      const job = { request, owner: anyOwner, silence: renderSilence, onProgress, lost: filmLost }
      try {
        const drawn = await (isLong(film) ? pools.long : pools.render).run(job, signal)
        if (!drawn || !('unknownWords' in drawn)) throw wrongResult(request)
        return drawn
      } catch (thrown) {
        // The child has ended or is done with it: the rest of the film is of no use.
        await rm(partOf(film), { force: true })
        throw thrown
      }
    },
    async verify(path, owner, signal, how = { mode: 'full' }) {
      const request = { kind: 'verify', path, how } as const
      const facts = await pools.verify.run(await jobOf(request, owner), signal)
      if (!facts || !('codec' in facts)) throw wrongResult(request)
      return facts
    },
    async check(path, limits, owner, signal) {
      const request = { kind: 'check', path, limits } as const
      const facts = await pools.check.run(await jobOf(request, owner), signal)
      if (!facts || !('codec' in facts)) throw wrongResult(request)
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
        await pools.inspect.run(job, signal)
      } catch (thrown) {
        // The cause may be an earlier image. A child that hung or starved would do so again.
        if (loss !== 'crashed' && loss !== 'killed') throw thrown
        await pools.inspect.run(job, signal)
      }
    },
    async still(path, kind, signal) {
      const request = { kind, path } as const
      const picture = await pools.still.run(await jobOf(request, anyOwner), signal)
      if (!(picture instanceof Uint8Array)) throw wrongResult(request)
      return picture
    },
    children: () => all.flatMap((pool) => pool.children()),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((pool) => pool[Symbol.asyncDispose]()))
    },
  }
}

function isLong({ seconds, size }: Film): boolean {
  return seconds * size.width * size.height > longPixels
}

/** A job that may have to decode the whole file. */
async function jobOf(request: JobRequest & { path: string }, owner: string): Promise<Job> {
  const { size } = await stat(request.path)
  const silence = silenceOf(verifyCpuMs + size / verifyBytesPerMs)
  return { request, owner, silence, onProgress: () => {}, lost: videoLost }
}

/** A child that gets less than a tenth of a core for this long is killed. */
function silenceOf(cpuMs: number): Job['silence'] {
  return { cpuMs, wallMs: 10 * cpuMs }
}

function wrongResult({ kind }: JobRequest): Problem {
  return new Problem('internal', 'Something went wrong on our side.', {
    cause: `the child returned the result of another job for ${kind}`,
  })
}

function filmLost(cause: string, loss: Loss): Problem {
  if (isMachineFault(loss)) return tooBusy(new Error(cause))
  return new Problem('generation_failed', 'The video could not be generated this time.', { cause, retryable: true })
}

/** The file is most likely hostile, but a paid video is worth a second try. */
function videoLost(cause: string, loss: Loss): Problem {
  if (isMachineFault(loss)) return tooBusy(new Error(cause))
  return new Problem('unsupported_output', 'The video cannot be used. It could not be decoded.', {
    cause,
    retryable: true,
  })
}

/** Not `invalid_image`: only a decoder can decide that. */
function imageLost(cause: string, loss: Loss): Problem {
  if (isMachineFault(loss)) return tooBusy(new Error(cause))
  const message = 'The image could not be checked. Try again, or send another image.'
  return new Problem('image_unavailable', message, { cause: new Error(cause), retryable: loss !== 'hung' })
}

function isMachineFault(loss: Loss): boolean {
  return loss === 'killed' || loss === 'starved'
}
