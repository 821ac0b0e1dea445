import { buffer } from 'node:stream/consumers'
import { Problem } from '../core/problem.ts'
import type { TaskImage } from '../core/task.ts'
import type { ProviderRequest } from '../providers/provider.ts'
import type { Tools, Worker } from './worker.ts'

/** Hands a queued task to its provider. */
export const submit: Worker = {
  name: 'submit',
  states: ['queued'],
  limit: 64,
  async run(task, tools, signal) {
    const account = tools.providers.get(task.provider)
    if (!account) throw new Problem('provider_unavailable', 'The model is not available any more.')
    const request: ProviderRequest = {
      model: task.upstreamModel,
      prompt: task.prompt,
      seconds: task.seconds,
      size: task.size,
      parameters: task.parameters,
      image: await loadImage(task.image, tools),
    }
    // The attempt's own record, committed before a byte leaves, goes here; until then a task has one attempt.
    const { operation } = await account.provider.submit(request, { signal, attemptId: task.id })
    const now = tools.clock.now()
    return {
      change: { state: 'running', startedAt: now, dueAt: now + account.provider.cadenceMs, operation, tries: 0 },
    }
  },
}

async function loadImage(image: TaskImage | null, tools: Tools): Promise<ProviderRequest['image']> {
  if (!image || !('asset' in image)) return null
  const object = await tools.bucket.open(image.asset.key)
  if (!object) throw new Problem('internal', 'The reference image is missing from our storage.')
  return { type: image.type, bytes: await buffer(object.stream()) }
}
