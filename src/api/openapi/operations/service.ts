import { refer } from '../schemas/schema.ts'
import type { Answer, Operations } from './operation.ts'

const page: Answer = { description: 'A page to read.', type: 'text/html', schema: { type: 'string' } }
const unchanged: Answer = {
  description: 'It is the one that you have.',
  headers: { ETag: 'Identifies this version: send it as `If-None-Match`.' },
}
const noPage: Answer = { ...page, description: 'There is no such model.' }

export const serviceOperations: Operations = {
  'GET /livez': {
    ...{ id: 'live', tag: 'Service', summary: 'Is the process alive?', access: 'anyone' },
    description: 'If this is not answered, restart it.',
    answers: { 200: { description: 'It is.', schema: refer('Alive') } },
  },
  'GET /readyz': {
    ...{ id: 'ready', tag: 'Service', summary: 'Can it do its work?', access: 'anyone' },
    description: 'If not, send requests elsewhere.',
    answers: {
      200: { description: 'It can.', schema: refer('Readiness') },
      503: { description: 'It can not, and says why.', schema: refer('Readiness') },
    },
  },
  'GET /openapi.json': {
    ...{ id: 'describe', tag: 'Service', summary: 'This document', access: 'anyone' },
    description: 'OpenAPI 3.1, made from the routes themselves.',
    answers: {
      200: { description: 'The document.', schema: { type: 'object', additionalProperties: true } },
      304: unchanged,
    },
  },
  'GET /docs': {
    ...{ id: 'readReference', tag: 'Service', summary: 'The reference, to read', access: 'anyone' },
    description: 'This document as a page.',
    answers: { 200: page, 304: unchanged },
  },
  'GET /docs/models': {
    ...{ id: 'readModels', tag: 'Service', summary: 'The models, to read', access: 'anyone' },
    description: 'All models, with a page for each.',
    answers: { 200: page },
  },
  'GET /docs/models/*': {
    ...{ id: 'readModel', tag: 'Service', summary: 'A model, to read', access: 'anyone' },
    description: 'What it takes, and examples that run as they stand.',
    path: { model: 'The name of the model.' },
    answers: { 200: page, 404: noPage },
  },
  'GET /docs/images/:size': {
    ...{ id: 'readImage', tag: 'Service', summary: 'An image for the examples', access: 'anyone' },
    description: 'In the default size of a model that needs one.',
    path: { size: 'The size, and `.png`: `1280x720.png`.' },
    answers: {
      200: { description: 'The image.', type: 'image/png', schema: { type: 'string', format: 'binary' } },
    },
    errors: ['unknown_url'],
  },
}
