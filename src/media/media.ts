import type { UploadLimits } from '../core/source.ts'
import type { ImageType, Size } from '../core/task.ts'

/**
 * Everything that touches pixels or containers happens in child processes: hostile media can only kill a child, and a
 * child that crashes or hangs costs only its own job. An abort of the signal ends a job wherever it is, with its reason.
 * All paths are local files that the caller made and cleans up.
 */
export interface Media extends AsyncDisposable {
  /**
   * Draws a film and writes a finished MP4 to `film.path`, which appears only when it is complete; the same film has the
   * same bytes. Films wait for a free renderer in order. Throws `generation_failed`, retryable if the child crashed or
   * hung, and `overloaded` if the machine killed the child or gave it too little CPU time: that is not the film's fault.
   */
  render(film: Film, onProgress: (percent: number) => void, signal: AbortSignal): Promise<DrawnFilm>
  /**
   * Decodes the whole file, once its boxes say that it is not too large for that. Throws `unsupported_output` if it is not
   * a playable H.264 MP4 from first to last frame; retryable if the child crashed or hung over it, which may be the
   * file's fault or not. Throws `overloaded` as above.
   */
  verify(path: string, owner: string, signal: AbortSignal): Promise<DecodedVideo>
  /**
   * The same for a video that a client sends, within narrower limits of its size, of memory and of CPU time. Throws
   * `invalid_value` if it exceeds them.
   */
  check(path: string, limits: UploadLimits, owner: string, signal: AbortSignal): Promise<DecodedVideo>
  /**
   * Decodes the whole image; owners take turns. Throws `invalid_image` if it is broken, animated, too slow to decode, or
   * not of that type and size, `image_unavailable` if the child crashed or hung over it, and `overloaded` as above or if
   * the owner has too many images waiting.
   */
  inspect(image: ImageBytes, owner: string, signal: AbortSignal): Promise<void>
  /**
   * A picture of the video: the same video gives the same one, on the same sort of machine. Throws `unsupported_output`
   * and `overloaded` as `verify` does.
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
   * A video to make it of. `beginning`: it comes first, whole and at its own pace, and the film goes on from its last
   * picture for `seconds` more. `image`: its middle picture is the image.
   */
  source?: { path: string; as: 'beginning' | 'image' } | null
  /** The prompt of the film that this one changes or continues: what `prompt` leaves open is as it says. */
  earlier?: string | null
  /** Another number is another film of the same prompt; null, or none, derives everything from the prompt. */
  seed?: number | null
  /** Whether the prompt is written along the bottom; none is yes. */
  caption?: boolean
}

export interface DrawnFilm {
  /** The first words of the prompt that mean nothing to the renderer: at most 20 of at most 50 characters. */
  unknownWords: readonly string[]
}

export interface DecodedVideo {
  /** Of the picture track, to the microsecond. */
  seconds: number
  /** As a player shows it. */
  size: Size
  /** Frames in a second, on average. */
  frameRate: number
  codec: string
  /** A player turns or mirrors the stored frames before it shows them. */
  turned?: boolean
}

export interface ImageBytes {
  bytes: Uint8Array
  type: ImageType
  size: Size
}

/** What the boxes of a video may say of it for it to be decoded at all. */
export interface VideoLimits extends UploadLimits {
  /** Of a frame. */
  pixels: number
  boxes: number
  /** Of the decoder. Uploads have one, so that an owner whose upload is decoded leaves the other cores. */
  threads: number
  /** Of CPU time, beyond what is granted for its bytes and frames. */
  cpuMs: number
  /** What a video that exceeds them is called. */
  code: 'invalid_value' | 'unsupported_output'
}
