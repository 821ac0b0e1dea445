import { type ModelCard, parseSize } from './catalog.ts'
import type { Size } from './task.ts'

/* How a result is verified before its task completes. */

export const verifyModes = ['full', 'smart'] as const

/** `full` decodes every frame. `smart` reads every sample and decodes the key frames and the sound. */
export type VerifyMode = (typeof verifyModes)[number]

export interface Verification {
  mode: VerifyMode
  /** Above these, a result is refused by its header, before it is decoded. */
  limits?: ResultLimits
}

interface ResultLimits {
  /** Of one frame. */
  pixels: number
  seconds: number
  frames: number
}

/** How a result came to this machine. */
interface Arrival {
  /** The provider is this process, and wrote the file to its own disk. */
  isLocal: boolean
  /** The address that sent it, after redirects; empty if it is not known. */
  url: string
  /** It has as many bytes as its sender announced. */
  isWhole: boolean
}

/**
 * `smart` misses bytes that changed on their way in frames other than key frames. TLS detects such changes, and the length
 * detects an early end. What a local renderer wrote went through no network: it is complete, because it gets its name
 * after its fsync.
 */
export function defaultMode({ isLocal, url, isWhole }: Arrival): VerifyMode {
  return isWhole && (isLocal || url.startsWith('https:')) ? 'smart' : 'full'
}

/** A paid video is not refused because it is larger than the request. But no model generates this much more. */
const [timesPixels, timesSeconds] = [4, 10]
/** A model of small or short videos may learn to generate these. */
const [leastPixels, leastSeconds] = [3840 * 2160, 600]
const mostPerSecond = 120

/** What the decoder may be given of a model. Undefined for a model that is no longer configured. */
export function resultLimits(card: Pick<ModelCard, 'size' | 'seconds'> | undefined): ResultLimits | undefined {
  if (!card) return undefined
  const { size, seconds: rule } = card
  const area = ({ width, height }: Size) => width * height
  const largest =
    'values' in size ? size.values.map((text) => area(parseSize(text) ?? { width: 0, height: 0 })) : [size.maxSide ** 2]
  const longest = 'values' in rule ? Math.max(...rule.values) : rule.max
  const seconds = Math.max(leastSeconds, timesSeconds * longest)
  return { pixels: Math.max(leastPixels, timesPixels * Math.max(...largest)), seconds, frames: mostPerSecond * seconds }
}
