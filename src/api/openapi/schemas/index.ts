import { eventSchemas } from './events.ts'
import { modelSchemas } from './models.ts'
import { operatorSchemas } from './operator.ts'
import type { Schemas } from './schema.ts'
import { serviceSchemas } from './service.ts'
import { videoSchemas } from './videos.ts'
import { webhookSchemas } from './webhooks.ts'

/** What is answered, by name. */
export const schemas: Schemas = {
  ...videoSchemas,
  ...eventSchemas,
  ...webhookSchemas,
  ...modelSchemas,
  ...operatorSchemas,
  ...serviceSchemas,
}
