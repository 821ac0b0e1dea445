import { readdir, writeFile } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { Problem } from '../core/problem.ts'
import type { Answer, Request, Told } from './protocol.ts'

/*
 * The process in which hostile media are handled. It takes one request at a time, knows no secrets, reads no clock, and
 * goes when its parent does.
 */

const send = (message: Told): void => {
  // A parent that is gone cannot be told; the disconnect below ends this process.
  if (process.connected) process.send?.(message, undefined, {}, () => {})
}

// Each thread has a priority of its own, on Linux, and those to come have that of this one.
const priority = Math.min(19, getPriority() + Number(process.argv[3]))
for (const thread of await readdir('/proc/self/task').catch(() => ['0'])) setPriority(Number(thread), priority)

// Where the system itself is short of memory, it ends this process and not the service.
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => {})

// The only way out in the middle of a film: there is nobody left to make it for.
process.on('disconnect', () => process.exit(0))

// Ctrl-C and a supervisor's stop reach the whole group; when to stop is for the parent to say, it may let a film end.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})

process.on('message', (request: Request) => {
  answer(request).then(
    (value) => send({ kind: 'done', value }),
    (thrown) => send({ kind: 'failed', problem: portable(Problem.from(thrown)) }),
  )
})

// Before the first job comes, which takes most of a start. If a package is missing, the job that needs it reports that.
loadPackages(process.argv[2] as Request['kind']).catch(() => {})

async function answer(request: Request): Promise<Answer> {
  await loadPackages(request.kind)
  // Loaded when asked for: the parent of these modules may lack their packages, and that must be a clear answer.
  switch (request.kind) {
    case 'render': {
      const { render } = await import('../studio/render.ts')
      return await render(request.film, (percent) => send({ kind: 'progress', percent }))
    }
    case 'verify': {
      const { verify } = await import('./verify.ts')
      return await verify(request.path)
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
      const { thumbnail } = await import('./thumbnail.ts')
      return await thumbnail(request.path)
    }
    case 'spritesheet': {
      const { spritesheet } = await import('./spritesheet.ts')
      return await spritesheet(request.path)
    }
    default:
      throw request satisfies never
  }
}

async function loadPackages(kind: Request['kind']): Promise<void> {
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
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new Problem('internal', 'Something went wrong on our side.', {
      cause: `The package ${name} could not be loaded: run "npm ci" without --omit=optional. (${reason})`,
    })
  }
}

function portable(problem: Problem): Extract<Told, { kind: 'failed' }>['problem'] {
  const { code, message, retryable, cause } = problem
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : cause === undefined ? null : String(cause)
  return { code, message, retryable, cause: text }
}
