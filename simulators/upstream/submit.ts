import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Answer, json, type Silence } from './answer.ts'
import type { Accepted, JobBody, Submission } from './jobs.ts'
import { note, type World } from './world.ts'

/** An id that no job has. */
const noJob = 'job_00000000-0000-0000-0000-000000000000'

export async function submit(world: World, request: IncomingMessage, bearer: string): Promise<Answer | Silence> {
  world.log.submits += 1
  const unread = world.plan.takeFirst('unread')
  if (unread) {
    note(world, unread, null, null)
    return unread.answer(noJob)
  }
  const body = readBody(await text(request))
  if (body === undefined) return json(422, { error: 'the body must be an object with a prompt' })
  const key = request.headers['idempotency-key']
  return answerTo(world, { body, key: typeof key === 'string' ? key : null, bearer })
}

function answerTo(world: World, submission: Submission): Answer | Silence {
  const { prompt } = submission.body
  const fault = world.plan.take('submit', prompt)
  if (fault === undefined) return plain(world.jobs.accept(submission))
  if (fault.accepted === true) {
    const accepted = world.jobs.accept(submission)
    // A job that can't be accepted can't go wrong after it was.
    if (!('id' in accepted)) return plain(accepted)
    note(world, fault, prompt, accepted.id)
    return fault.answer(accepted.id)
  }
  note(world, fault, prompt, null)
  if (fault.refuses) world.refuse()
  if (fault.accepted === 'maybe') world.later(world.plan.settings.lateMs, () => world.jobs.accept(submission))
  return fault.answer(noJob)
}

function plain(accepted: Accepted): Answer {
  if ('duplicate' in accepted) return json(409, { error: 'duplicate', id: accepted.duplicate })
  if ('keyReused' in accepted) return json(422, { error: 'the key was used for another body' })
  return json(200, accepted)
}

function readBody(body: string): JobBody | undefined {
  try {
    const value: unknown = JSON.parse(body)
    const valid = typeof value === 'object' && value !== null && 'prompt' in value && typeof value.prompt === 'string'
    return valid ? (value as JobBody) : undefined
  } catch {
    return undefined
  }
}
