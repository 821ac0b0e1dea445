import { refer } from '../schemas/schema.ts'
import type { Operations } from './operation.ts'

export const modelOperations: Operations = {
  'GET /v1/models': {
    ...{ id: 'listModels', tag: 'Models', summary: 'List the models', access: 'client' },
    description: 'Those that this token may use, with what each takes.',
    answers: { 200: { description: 'All of them.', schema: refer('ModelList') } },
  },
  'GET /v1/models/*': {
    ...{ id: 'retrieveModel', tag: 'Models', summary: 'Show a model', access: 'client' },
    description: 'A name may contain slashes, as they are or as `%2F`.',
    path: { model: 'The name of the model.' },
    answers: { 200: { description: 'The model.', schema: refer('Model') } },
    errors: ['model_not_found'],
  },
}
