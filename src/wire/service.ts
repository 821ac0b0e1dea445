import { always, orNull, type Static, shape, text } from './schema.ts'

const storageState = (description: string) =>
  ({ type: 'string', enum: ['ok', 'full', 'read_only', 'unavailable'], description }) as const

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

/** The keys are the names in the OpenAPI document. */
export const serviceResponses = { Alive, Readiness }
