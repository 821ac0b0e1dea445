import { storageFaults } from '../core/storage-fault.ts'
import { always, orNull, type Static, shape, text } from './schema.ts'

const storageState = (description: string) => ({ type: 'string', enum: ['ok', ...storageFaults], description }) as const

export const Alive = shape('The process runs.', { status: always('ok') })

export const Readiness = shape('Whether a process can do its work.', {
  status: {
    type: 'string',
    enum: ['ok', 'unavailable', 'draining'],
    description: '`draining`: the process is stopping, and accepts no new work.',
  },
  reason: orNull(text('Why it is not ready, and what to do; null if it is ready.')),
  store: storageState('Whether rows can be written. If not, the service is not ready; reads may work.'),
  bucket: storageState('Whether videos can be stored. The service is ready without it: polls and lists don’t need it.'),
})
export type Readiness = Static<typeof Readiness>

export const ErrorResponse = shape('The shape of every error.', {
  error: shape('What is wrong.', {
    message: text('What is wrong and how to fix it, for people.'),
    type: {
      type: 'string',
      enum: ['invalid_request_error', 'requests', 'insufficient_quota', 'server_error'],
      description:
        'The kind of error: `server_error` is a fault of the service, `requests` is too many requests, `insufficient_quota` is a spend cap, or a limit on stored bytes.',
    },
    param: orNull(text('The field that is wrong; null if the error is not about a field.')),
    code: orNull(text('The error code, for programs.')),
  }),
})
export type ErrorResponse = Static<typeof ErrorResponse>

/** The keys are the names in the OpenAPI document. */
export const serviceResponses = { Alive, Readiness, Error: ErrorResponse }
