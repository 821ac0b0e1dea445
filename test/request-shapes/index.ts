import { apps } from './apps.ts'
import { engines } from './engines.ts'
import { litellm } from './litellm.ts'
import { newApi } from './new-api.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { providers } from './providers.ts'
import type { Client } from './shape.ts'
import { cliProxy, xai } from './xai.ts'

/** Every client whose requests are replayed. */
export const clients: readonly Client[] = [openai, newApi, litellm, xai, cliProxy, openrouter, engines, apps, providers]
