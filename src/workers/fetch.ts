import { examineImage, maxImageBytes } from '../core/image.ts'
import type { Worker } from './worker.ts'

/**
 * Downloads a reference image that was given as a URL, before the task is queued: no provider ever sees the URL, and a slow
 * host holds no slot of a provider.
 */
export const fetch: Worker = {
  name: 'fetch',
  states: ['fetching'],
  limit: 24,
  async run(task, { bucket, clock, media, outbound }, { signal }) {
    if (!task.image || 'asset' in task.image) return { change: { state: 'queued', dueAt: clock.now() } }
    const now = clock.now()
    if (now >= task.startBy) {
      const message =
        'The image could not be fetched before the deadline of the video. Use a faster server, or upload it.'
      return { change: { state: 'failed', error: { code: 'deadline_exceeded', message }, dueAt: now } }
    }
    const limits = { maxBytes: maxImageBytes, withinMs: task.startBy - now }
    const { bytes } = await outbound.of(task.owner).download(task.image.url, limits, signal)
    const facts = examineImage(bytes, 'image')
    await media.inspect({ bytes, ...facts }, task.owner, signal)
    const asset = await bucket.put(`${task.id}/image.${task.fence}`, [bytes], signal)
    return { change: { state: 'queued', image: { asset, ...facts }, dueAt: clock.now(), tries: 0 } }
  },
}
