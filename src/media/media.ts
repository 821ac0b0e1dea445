import type { UploadLimits } from '../core/source.ts'
import type { ImageType, Size } from '../core/task.ts'
import type { Verification } from '../core/verification.ts'

/**
 * Pixels and containers are handled only in child processes: hostile media can only kill a child, and a child that
 * crashes or hangs fails only its own job. An abort of the signal ends a job, waiting or running, with its reason.
 * All paths are local files that the caller creates and removes.
 */
export interface Media extends AsyncDisposable {
  /**
   * Draws a film and writes an MP4 to `film.path`, which appears only when it is complete. The same film has the same
   * bytes. Films wait for a free renderer in order. Throws `generation_failed`, retryable if the child crashed or hung,
   * and `overloaded` if the machine killed the child or gave it too little CPU time, which is not the film's fault.
   */
  render(film: Film, onProgress: (percent: number) => void, signal: AbortSignal): Promise<DrawnFilm>
  /**
   * Decodes the whole file, unless its boxes show that it is too large; with `smart` only the key frames, if nothing else
   * in the file is unusual. Throws `unsupported_output` if it is not a playable H.264 MP4 from first to last frame;
   * retryable if the child crashed or hung, which may or may not be the fault of the file. Throws `overloaded` as above.
   */
  verify(path: string, owner: string, signal: AbortSignal, how?: Verification): Promise<DecodedVideo>
  /**
   * The same for a video that a client uploads, with lower limits for size, memory and CPU time. Throws `invalid_value`
   * if it exceeds them.
   */
  check(path: string, limits: UploadLimits, owner: string, signal: AbortSignal): Promise<DecodedVideo>
  /**
   * Decodes the whole image; owners take turns. Throws `invalid_image` if it is broken, animated, too slow to decode, or
   * not of that type and size, `image_unavailable` if the child crashed or hung, `overloaded` as above, and
   * `rate_limit_exceeded` if the owner has too many images waiting.
   */
  inspect(image: ImageBytes, owner: string, signal: AbortSignal): Promise<void>
  /**
   * A picture of the video. The same video gives the same picture on the same sort of machine. Throws
   * `unsupported_output` and `overloaded` like `verify`.
   */
  still(path: string, kind: Still, signal: AbortSignal): Promise<Uint8Array>
}

/** One frame as WebP, or 25 frames from equal parts of the video as JPEG. */
export type Still = 'thumbnail' | 'spritesheet'

export interface Film {
  path: string
  prompt: string
  seconds: number
  size: Size
  image: { path: string } | null
  /**
   * A source video. `beginning`: the film starts with all of it at its own pace, and continues from its last frame for
   * `seconds` more. `image`: its middle frame is the image.
   */
  source?: { path: string; as: 'beginning' | 'image' } | null
  /** The prompt of the film that this one changes or continues. It decides what `prompt` leaves open. */
  earlier?: string | null
  /** Another seed gives another film for the same prompt. Without one everything derives from the prompt. */
  seed?: number | null
  /** Whether the prompt is written along the bottom. Default: true. */
  caption?: boolean
}

export interface DrawnFilm {
  /** The first words of the prompt that the renderer does not know: at most 20, each cut at 50 characters. */
  unknownWords: readonly string[]
}

export interface DecodedVideo {
  /** Of the video track, to the microsecond. */
  seconds: number
  /** As a player shows it. */
  size: Size
  /** Average frames per second. */
  frameRate: number
  codec: string
  /** A player rotates or mirrors the stored frames. */
  turned?: boolean
  /** Only if it looks wrong. */
  looks?: Looks
}

/** Every frame that was checked is black, or all of them are the same. */
export type Looks = 'black' | 'frozen'

export interface ImageBytes {
  bytes: Uint8Array
  type: ImageType
  size: Size
}

/** Limits for the boxes of a video, checked before it is decoded. */
export interface VideoLimits extends UploadLimits {
  /** Of one frame. */
  pixels: number
  boxes: number
  /** CPU time in addition to what its bytes and frames allow. */
  cpuMs: number
  /** The error code for a video that exceeds them. */
  code: 'invalid_value' | 'unsupported_output'
}
