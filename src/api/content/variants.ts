import type { Still } from '../../media/media.ts'

/** What can be asked for of a finished video. */
export type Variant = 'video' | Still

export interface Kind {
  /** Its content type, */
  type: string
  /** and how the name of its file ends. */
  ending: string
}

export const variants: Record<Variant, Kind> = {
  video: { type: 'video/mp4', ending: 'mp4' },
  thumbnail: { type: 'image/webp', ending: 'webp' },
  spritesheet: { type: 'image/jpeg', ending: 'jpg' },
}
