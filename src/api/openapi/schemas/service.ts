import { type Schemas, shape } from './schema.ts'

const found = (description: string) => ({ type: 'string', enum: ['ok', 'unavailable'], description }) as const

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
      store: found('Whether rows can be read and written.'),
      bucket: found('Whether films can be. That alone makes no service unready: polls and lists need none.'),
    }),
    description: 'Whether a process can do its work.',
  },
}
