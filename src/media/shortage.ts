import { type Image, loadImage } from '@napi-rs/canvas'
import { FFmpegError } from 'node-av/lib'
import { maxImagePixels } from '../core/image.ts'
import type { Problem } from '../core/problem.ts'
import { tooBusy } from './protocol.ts'

/* In a child: a job that fails because memory is short is not the fault of its image. */

/** `overloaded` if FFmpeg could not allocate memory. */
export function shortageOf(thrown: unknown): Problem | null {
  return thrown instanceof FFmpegError && thrown.isENOMEM ? tooBusy(thrown) : null
}

/** The canvas throws the same error for an unsupported kind and for a failed allocation, so an allocation is tried. */
export async function loadPicture(bytes: Buffer, refusal: (thrown: unknown) => Problem): Promise<Image> {
  return await loadImage(bytes).catch((thrown: unknown) => {
    throw hasMemory() ? refusal(thrown) : tooBusy(thrown)
  })
}

/** Whether the pixels of the largest image can be allocated. */
function hasMemory(): boolean {
  try {
    return new Uint8Array(maxImagePixels * 4).length > 0
  } catch {
    return false
  }
}
