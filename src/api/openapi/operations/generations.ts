import { refer } from '../schemas/schema.ts'
import type { Operation, Operations } from './operation.ts'
import { videoOperations } from './videos.ts'

/** The same as `/v1/videos`, at the paths of other services. */
function at(path: string, name: string): Operations {
  const create = videoOperations['POST /v1/videos'] as Operation
  const retrieve = videoOperations['GET /v1/videos/:id'] as Operation
  const same = (of: string) =>
    `As \`${of}\`, for clients that use this path. The id is also \`task_id\` and \`request_id\`.`
  const answered = ({ answers }: Operation) => ({ 200: { ...answers[200], schema: refer('VideoGeneration') } })
  return {
    [`POST ${path}`]: {
      ...{
        ...create,
        id: `create${name}`,
        summary: `${create.summary}, at ${path}`,
        description: same('POST /v1/videos'),
      },
      answers: answered(create) as Operation['answers'],
    },
    [`GET ${path}/:id`]: {
      ...{
        ...retrieve,
        id: `retrieve${name}`,
        summary: `${retrieve.summary}, at ${path}`,
        description: same('GET /v1/videos/{video_id}'),
      },
      answers: answered(retrieve) as Operation['answers'],
    },
  }
}

export const generationOperations: Operations = {
  ...at('/v1/videos/generations', 'VideosGeneration'),
  ...at('/v1/video/generations', 'VideoGeneration'),
}
