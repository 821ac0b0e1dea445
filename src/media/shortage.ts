import { type Image, loadImage } from '@napi-rs/canvas'
import { FFmpegError } from 'node-av/lib'
import { maxImagePixels } from '../core/image.ts'
import type { Problem } from '../core/problem.ts'
import { tooBusy } from './protocol.ts'

/*
 * In a child: what fails for want of memory is not the fault of the image.
 */

/** The problem of a machine without memory, if that is what FFmpeg met. */
export function shortageOf(thrown: unknown): Problem | null {
  return thrown instanceof FFmpegError && thrown.isENOMEM ? tooBusy(thrown) : null
}

/** The canvas has the same error for a kind that it can't read and for want of memory: only memory itself tells. */
export async function loadPicture(bytes: Buffer, refusal: (thrown: unknown) => Problem): Promise<Image> {
  return await loadImage(bytes).catch((thrown: unknown) => {
    throw hasMemory() ? refusal(thrown) : tooBusy(thrown)
  })
}

/** Whether there is enough for the pixels of the largest image. */
function hasMemory(): boolean {
  try {
    return new Uint8Array(maxImagePixels * 4).length > 0
  } catch {
    return false
  }
}
