import { checkModels } from './models.ts'
import { checkVideos } from './videos.ts'
import { checkWebhooks, register } from './webhooks.ts'

/* The official Node SDK. Endpoints come first: they are notified of every video after that. */
await register()
await checkModels()
await checkVideos()
await checkWebhooks()
