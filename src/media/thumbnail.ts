import { picturesAt } from './frames.ts'
import { refusal } from './video.ts'

const box = { width: 640, height: 640 }
/** Many films begin in the dark; by now they are under way. */
const moment = 1 / 3
const quality = 80

/** One frame as WebP. */
export async function thumbnail(path: string): Promise<Uint8Array> {
  const [picture] = await picturesAt(path, [moment], box)
  if (!picture) throw refusal('It has no pictures.')
  return await picture.encode('webp', quality)
}
