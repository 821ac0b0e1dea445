import { join } from 'node:path'
import { type Variant, variants } from '../wire/videos.ts'
import type { Client } from './client.ts'
import { VideoFailure } from './failure.ts'
import { follow, type Watch } from './follow.ts'
import { quoted } from './program.ts'
import { type Saved, type SaveWatch, save } from './save.ts'
import { fileNameOf } from './slug.ts'
import type { Target } from './target.ts'
import type { Task } from './video.ts'

export interface Finished {
  task: Task
  saved: Saved
}

/** Waits for a task and saves its video. Throws a `VideoFailure` if the task failed. */
export async function finish(
  client: Client,
  id: string,
  target: VideoTarget,
  watch: Watch & SaveWatch,
): Promise<Finished> {
  const task = await follow(client, id, watch)
  if (task.status === 'failed') throw new VideoFailure(task)
  watch.onBytes(0, null)
  const path = pathOf(target, task, variants[watch.variant ?? 'video'].ending)
  return { task, saved: await save(client, id, path, watch) }
}

/** `prompt`: for the name of the file, if `-o` gives none. */
interface VideoTarget extends Target {
  prompt?: string
}

function pathOf({ folder, name, prompt }: VideoTarget, task: Task, ending: string): string {
  return join(folder, name ?? fileNameOf(prompt ?? task.prompt ?? 'film', task.id, ending))
}

/** The command that downloads a video which was left on the server. */
export function laterCommand(
  id: string,
  { output, baseUrl, variant }: { output: string | undefined; baseUrl: string | undefined; variant?: Variant },
) {
  const words = [
    'filmgate',
    'download',
    id,
    ...(output ? ['-o', output] : []),
    ...(variant && variant !== 'video' ? ['--variant', variant] : []),
    ...(baseUrl ? ['--base-url', baseUrl] : []),
  ]
  return words.map(quoted).join(' ')
}
