import { checkModels } from './models.ts'
import { checkVideos } from './videos.ts'
import { checkWebhooks, register } from './webhooks.ts'

/* The official Node SDK. Endpoints first: what is made after that is told to them. */
await register()
await checkModels()
await checkVideos()
await checkWebhooks()
