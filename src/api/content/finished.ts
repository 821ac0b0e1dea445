import { Problem } from '../../core/problem.ts'
import type { Asset, Task } from '../../core/task.ts'

/** The stored video of a finished task. Throws the reason if there is no video. */
export function finished(task: Task, now: number): { video: Asset; completedAt: number } {
  if (task.state === 'failed') {
    throw new Problem('video_failed', `The video failed: ${task.error?.message ?? 'generation failed'}`)
  }
  if (task.state !== 'completed') {
    throw new Problem('video_not_ready', 'Video is not ready yet, use GET /v1/videos/{video_id} to check its status.')
  }
  const { video, completedAt, expiresAt } = task
  // A video without bytes has expired, even if the clock was set back.
  if (video && completedAt !== null && expiresAt !== null && now < expiresAt) return { video, completedAt }
  const when = new Date(expiresAt ?? now).toISOString()
  throw new Problem('video_expired', `The video expired at ${when} and was removed.`)
}
