import { readdir, writeFile } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { messageOf, Problem } from '../core/problem.ts'
import type { ChildMessage, JobRequest, JobResult } from './protocol.ts'

/*
 * The process that handles hostile media. It runs one job at a time, has no secrets, reads no clock, and ends with its
 * parent.
 */

const send = (message: ChildMessage): void => {
  // Without a parent the message is dropped; the disconnect below ends this process.
  if (process.connected) process.send?.(message, undefined, {}, () => {})
}

// On Linux each thread has its own priority, and new threads inherit that of this one.
const priority = Math.min(19, getPriority() + Number(process.argv[3]))
for (const thread of await readdir('/proc/self/task').catch(() => ['0'])) setPriority(Number(thread), priority)

// If the system runs out of memory, it kills this process and not the service.
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => {})

// The only exit in the middle of a job: its result is not needed any more.
process.on('disconnect', () => process.exit(0))

// Ctrl-C and a supervisor's stop reach the whole process group. The parent decides when to stop: it may finish a film.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})

process.on('message', (request: JobRequest) => {
  run(request).then(
    (value) => send({ kind: 'done', value }),
    (thrown) => send({ kind: 'failed', problem: portable(Problem.from(thrown)) }),
  )
})

// Before the first job, because loading takes most of a start. The job that needs a missing package reports it.
loadPackages(process.argv[2] as JobRequest['kind']).catch(() => {})

async function run(request: JobRequest): Promise<JobResult> {
  await loadPackages(request.kind)
  // Imported on demand: if an optional package is missing, `loadPackages` above reports it clearly.
  switch (request.kind) {
    case 'render': {
      const { render } = await import('../studio/render.ts')
      return await render(request.film, (percent) => send({ kind: 'progress', percent }))
    }
    case 'verify': {
      const { verify } = await import('./verify.ts')
      // Each of its two ways has the time of a job.
      return await verify(request.path, request.how, () => send({ kind: 'progress', percent: 0 }))
    }
    case 'check': {
      const { checkUpload } = await import('./verify.ts')
      return await checkUpload(request.path, request.limits)
    }
    case 'inspect': {
      const { inspect } = await import('./inspect.ts')
      return await inspect(request.image)
    }
    case 'thumbnail': {
      const { thumbnail } = await import('./stills.ts')
      return await thumbnail(request.path)
    }
    case 'spritesheet': {
      const { spritesheet } = await import('./stills.ts')
      return await spritesheet(request.path)
    }
    default:
      throw request satisfies never
  }
}

async function loadPackages(kind: JobRequest['kind']): Promise<void> {
  await load('node-av')
  if (kind !== 'verify' && kind !== 'check') await load('@napi-rs/canvas')
}

async function load(name: 'node-av' | '@napi-rs/canvas'): Promise<void> {
  try {
    if (name === 'node-av') {
      const { AV_LOG_QUIET, Log } = await import('node-av')
      Log.setLevel(AV_LOG_QUIET)
    } else {
      await import('@napi-rs/canvas')
    }
  } catch (thrown) {
    const reason = messageOf(thrown)
    throw new Problem('internal', 'Something went wrong on our side.', {
      cause: `The package ${name} could not be loaded: run "npm ci" without --omit=optional. (${reason})`,
    })
  }
}

function portable(problem: Problem): Extract<ChildMessage, { kind: 'failed' }>['problem'] {
  const { code, message, retryable, cause } = problem
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : cause === undefined ? null : String(cause)
  return { code, message, retryable, cause: text }
}
