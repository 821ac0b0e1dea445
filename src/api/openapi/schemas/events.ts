import { refer, type Schemas, shape } from './schema.ts'

export const eventSchemas: Schemas = {
  VideoEvent: {
    oneOf: [refer('Video'), refer('DeletedVideo'), refer('EventsReset')],
    description: 'What an event carries as its `data`: the video as it is by then.',
  },
  EventsReset: {
    ...shape({
      object: { const: 'events.reset', type: 'string', description: 'Always `events.reset`.' },
      message: { type: 'string', description: 'What to do, for people.' },
    }),
    description: 'What happened since the last event that you named is not known any more.',
  },
}
