import { derivedOperations } from './derived.ts'
import { eventOperations } from './events.ts'
import { generationOperations } from './generations.ts'
import { modelOperations } from './models.ts'
import type { Operations } from './operation.ts'
import { operatorOperations } from './operator.ts'
import { serviceOperations } from './service.ts'
import { videoOperations } from './videos.ts'
import { webhookOperations } from './webhooks.ts'

/*
 * Every route, in the order of the document. To add one: write an entry under 'METHOD /path', exactly as the route is
 * registered, into the file of its tag (or into a new file, listed here); give what it answers a schema in
 * `../schemas`; and add a request for each of its answers to `test/responses.test.ts`. A route without an entry fails
 * `test/openapi.test.ts`, and so does an entry without a route.
 */
export const operations: Operations = {
  ...videoOperations,
  ...generationOperations,
  ...derivedOperations,
  ...eventOperations,
  ...webhookOperations,
  ...modelOperations,
  ...operatorOperations,
  ...serviceOperations,
}

/** Routes that are not in the document: the first leads to it, the others only say that there is nothing. */
export const refused: readonly string[] = [
  'GET /',
  'GET /v1/videos/characters',
  'POST /v1/videos/characters',
  'GET /v1/videos/characters/:id',
  'GET /v1/videos/edits',
  'DELETE /v1/videos/edits',
  'GET /v1/videos/generations',
  'DELETE /v1/videos/generations',
  'GET /v1/video/generations',
  'DELETE /v1/video/generations',
  'GET /v1/videos/extensions',
  'DELETE /v1/videos/extensions',
]
