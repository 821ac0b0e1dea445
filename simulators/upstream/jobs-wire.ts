import { randomUUID } from 'node:crypto'
import { json } from './answer.ts'
import type { Job, JobBody, Mode } from './jobs.ts'
import { parsed, type Question, respond, type Wire, type WireRequest } from './wire.ts'

/** A plain API of no real vendor, with each kind of recovery. README.md has its routes. */
export function jobsWire(mode: Mode): Wire {
  return {
    mode,
    filmsApart: false,
    newId: () => `job_${randomUUID()}`,
    isSubmit: ({ method, path, headers }) => method === 'POST' && path === '/jobs' && bearerOf(headers) !== undefined,
    read: (asked) => read(mode, asked),
    accepted: ({ id }) => json(200, { id }),
    refused: (why, id) =>
      why === 'duplicate'
        ? json(409, { error: 'duplicate', id })
        : json(422, { error: 'the key was used for another body' }),
    polled: (_job, claim) => json(200, claim),
    found: (jobs) => json(200, { jobs: jobs.map(listed) }),
    cancelled: (_job, cancelled) => json(200, { cancelled }),
    unknown: () => json(404, { error: 'unknown job' }),
  }
}

function read(mode: Mode, { method, path, query, headers, body }: WireRequest): Question {
  const [, folder, id] = path.split('/')
  if (folder !== 'jobs') return respond(json(404, { error: 'no such route' }))
  const bearer = bearerOf(headers)
  if (bearer === undefined) return respond(json(401, { error: 'no key' }))
  if (id !== undefined && method === 'GET') return { ask: 'poll', id }
  if (id !== undefined && method === 'DELETE') return { ask: 'cancel', id }
  if (id === undefined && method === 'GET') return find(mode, query)
  if (id !== undefined || method !== 'POST') return respond(json(405, { error: 'no such method' }))
  const job = readBody(body)
  if (job === undefined) return respond(json(422, { error: 'the body must be an object with a prompt' }))
  const key = headers['idempotency-key']
  return { ask: 'submit', submission: { body: job, key: typeof key === 'string' ? key : null, bearer } }
}

function find(mode: Mode, query: URLSearchParams): Question {
  const reference = query.get('reference')
  const since = query.get('since')
  if (mode === 'lookup' && reference !== null)
    return { ask: 'find', subject: reference, matches: ({ body }) => body.reference === reference }
  if (mode === 'list' && since !== null)
    return { ask: 'find', subject: '', matches: ({ acceptedAt }) => acceptedAt >= Number(since) }
  return respond(json(404, { error: 'no such route' }))
}

function bearerOf({ authorization = '' }: { authorization?: string | undefined }): string | undefined {
  return /^Bearer (.+)$/.exec(authorization)?.[1]
}

function listed({ id, body, acceptedAt }: Job): object {
  const { model, prompt, seconds, size, reference } = body
  return { id, model, prompt, seconds, size, reference, created_at: acceptedAt }
}

function readBody(body: Buffer): JobBody | undefined {
  const job = parsed(body)
  return typeof job?.prompt === 'string' ? (job as unknown as JobBody) : undefined
}
