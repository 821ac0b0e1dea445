import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCanvas } from '@napi-rs/canvas'
import type { Size } from '../core/task.ts'
import type { Film } from './media.ts'

export { manualClock } from '../core/clock.fixture.ts'

export async function temporaryFolder(): Promise<AsyncDisposable & { file(name: string): string }> {
  const path = await mkdtemp(join(tmpdir(), 'filmgate-media-'))
  return {
    file: (name) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

export function film(path: string, change: Partial<Film> = {}): Film {
  return { path, prompt: 'A calm sea at sunset', seconds: 1, size: { width: 320, height: 180 }, image: null, ...change }
}

export const never: AbortSignal = new AbortController().signal

/** An image with edges and colours, so that it does not compress to a few bytes. */
export function picture(size: Size, type: 'image/png' | 'image/jpeg' | 'image/webp'): Buffer {
  const canvas = createCanvas(size.width, size.height)
  const pen = canvas.getContext('2d')
  for (let index = 0; index < 200; index++) {
    pen.fillStyle = `hsl(${index * 37}, 70%, ${20 + (index % 60)}%)`
    pen.fillRect((index * 97) % size.width, (index * 61) % size.height, size.width / 5, size.height / 7)
  }
  return type === 'image/png' ? canvas.toBuffer(type) : canvas.toBuffer(type, 85)
}
