import { setTimeout as pause } from 'node:timers/promises'
import { type Measure, models, moment, type Target, type World } from './duel.ts'

/* What working tokens do. */

export interface Video {
  id: string
  status: string
}

/** A request as that token; throws unless it is answered with 200. */
export async function ask<Answer>(target: Target, path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${target.token}`, ...init.headers }
  const answer = await fetch(`${target.url}${path}`, { ...init, headers })
  const body = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status}: ${body.slice(0, 200)}`)
  return (answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(body) : body) as Answer
}

export function post<Answer>(target: Target, path: string, body: object, signal?: AbortSignal): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return ask(target, path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
}

export function submit(target: Target, fields: object, signal?: AbortSignal): Promise<Video> {
  return post(target, '/v1/videos', { model: models.working, ...fields }, signal)
}

let prompts = 0

export function newPrompt(): string {
  prompts += 1
  return `working film ${prompts}`
}

/** The time that a request takes. */
export function requestMeasure(name: string, request: (signal: AbortSignal) => Promise<unknown>): Measure {
  return {
    name,
    async run(_watch, signal) {
      await request(signal)
      return moment()
    },
  }
}

/** The time that a submit takes. */
export function submitMeasure(name: string, target: Target, fields: object = {}): Measure {
  return {
    name,
    async run(_watch, signal) {
      const { id } = await submit(target, { prompt: newPrompt(), ...fields }, signal)
      const end = moment()
      await remove(target, id, signal)
      return end
    },
  }
}

/** Else the phase under attack would begin with all the work of the one before. */
function remove(target: Target, id: string, signal: AbortSignal): Promise<unknown> {
  return ask(target, `/v1/videos/${id}`, { method: 'DELETE', signal })
}

/** What a token does most. */
export async function pollAndSubmit(target: Target): Promise<Measure[]> {
  const { id } = await submit(target, { prompt: newPrompt() })
  return [
    requestMeasure('poll', (signal) => ask(target, `/v1/videos/${id}`, { signal })),
    submitMeasure('submit', target),
  ]
}

/** From the submit to the moment at which the engine accepts it. */
export function acceptMeasure(name: string, { target, upstream }: World, fields: object = {}): Measure {
  return {
    name,
    async run(_watch, signal) {
      const prompt = newPrompt()
      const { id } = await submit(target, { prompt, ...fields }, signal)
      for (;;) {
        const accept = upstream.ledger().accepts.find((one) => one.prompt === prompt)
        if (accept) {
          await remove(target, id, signal)
          return accept.at
        }
        await pause(10, undefined, { signal })
      }
    },
  }
}
