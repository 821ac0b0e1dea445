import { suggestion } from './arguments.ts'
import { UsageFailure } from './failure.ts'

/** What can be fetched of a video, and how the name of its file ends. */
export const endings = { video: 'mp4', thumbnail: 'webp', spritesheet: 'jpg' } as const

export type Variant = keyof typeof endings

export function readVariant(given = 'video'): Variant {
  const known = Object.keys(endings) as Variant[]
  const variant = known.find((name) => name === given)
  if (variant) return variant
  throw new UsageFailure(`--variant ${given}: there is ${known.join(', ')}${suggestion(given, known)}`)
}
