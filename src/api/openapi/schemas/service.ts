import { type Schemas, shape } from './schema.ts'

const found = (description: string) =>
  ({ type: 'string', enum: ['ok', 'full', 'read_only', 'unavailable'], description }) as const

export const serviceSchemas: Schemas = {
  Alive: {
    ...shape({ status: { const: 'ok', type: 'string', description: 'Always `ok`.' } }),
    description: 'The process runs.',
  },
  Readiness: {
    ...shape({
      status: {
        type: 'string',
        enum: ['ok', 'unavailable', 'draining'],
        description: '`draining`: it was asked to stop, and takes no new work.',
      },
      reason: { type: ['string', 'null'], description: 'Why it is not ready, and what to do; null if it is.' },
      store: found('Whether rows can be written. If not, the service is not ready; reads may go on.'),
      bucket: found('Whether videos can be stored. That alone makes no service unready: polls and lists need none.'),
    }),
    description: 'Whether a process can do its work.',
  },
}
