import { setImmediate } from 'node:timers/promises'
import { Problem } from '../core/problem.ts'
import { LongText } from './long-text.ts'

/** The reference image as text: a URL, a data URL, or bare base64. Throws `invalid_image`. */
export async function readImageText(
  given: string | LongText,
  param: string,
): Promise<{ url: string } | { bytes: Uint8Array }> {
  const text = typeof given === 'string' ? new LongText(Buffer.from(given), { isEscaped: false }) : given
  const head = headOf(text)
  const [data] = /^data:[^,]{0,200},/i.exec(head) ?? []
  if (data && !/;base64,$/i.test(data)) {
    throw new Problem('invalid_image', 'The data URL must be base64: data:image/png;base64,…', { param })
  }
  // Base64 has no colon, so text that begins like a scheme is a URL.
  if (!data && /^\s*[a-z][a-z0-9+.-]*:/i.test(head)) {
    if (typeof given === 'string') return { url: given.trim() }
    throw new Problem('invalid_image_url', 'The image URL is too long. Use a shorter URL, or upload the image.', {
      param,
    })
  }
  const bytes = await decode(text, data?.length ?? 0)
  if (bytes) return { bytes }
  const message =
    'The image must be an http(s) URL, a data URL, base64 of its bytes, or a file part of a form (curl: -F image=@file.png).'
  throw new Problem('invalid_image', message, { param })
}

/** The beginning of the text, longer than the part of a data URL before its data. */
function headOf(text: LongText): string {
  try {
    for (const piece of text.pieces()) return piece.toString('latin1', 0, 300)
  } catch {
    // An invalid escape, which the decoder refuses.
  }
  return ''
}

/** Other requests are served between two pieces of a long text. Undefined if it is not base64. */
async function decode(text: LongText, skip: number): Promise<Uint8Array | undefined> {
  const decoder = openDecoder(text.length)
  let left = skip
  try {
    for (const piece of text.pieces()) {
      if (!decoder.write(piece.subarray(left))) return undefined
      left = 0
      if (text.length > piece.length) await setImmediate()
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  return decoder.end()
}

const [isSpace, isPadding, isWrong] = [64, 65, 66]

/** The value of each byte, in both alphabets of base64. */
const values = new Uint8Array(256).fill(isWrong)
for (const alphabet of ['+/', '-_'])
  for (const [value, sign] of [
    ...`ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${alphabet}`,
  ].entries())
    values[sign.charCodeAt(0)] = value
for (const space of '\r\n\t ') values[space.charCodeAt(0)] = isSpace
values['='.charCodeAt(0)] = isPadding

/**
 * Node's decoder accepts any input. Checking it and removing spaces with regular expressions took three seconds for 28
 * MB (measured). This takes a tenth of a second.
 */
function openDecoder(length: number) {
  const bytes = Buffer.allocUnsafe(Math.ceil(length / 4) * 3)
  let [at, bits, count, padding] = [0, 0, 0, 0]
  return {
    /** False if a byte is not base64. */
    write(text: Buffer): boolean {
      for (let index = 0; index < text.length; index += 1) {
        const value = values[text[index] as number] as number
        if (value < isSpace) {
          if (padding > 0) return false
          bits = (bits << 6) | value
          count += 1
          if (count < 4) continue
          bytes[at] = bits >> 16
          bytes[at + 1] = bits >> 8
          bytes[at + 2] = bits
          at += 3
          bits = count = 0
        } else if (value === isPadding) {
          padding += 1
          if (padding > 2) return false
        } else if (value === isWrong) return false
      }
      return true
    },
    /** Undefined if there were no bytes, or half a byte is left. */
    end(): Uint8Array | undefined {
      if (count === 1 || at + count === 0) return undefined
      if (count === 3) {
        bytes[at] = bits >> 10
        bytes[at + 1] = bits >> 2
      } else if (count === 2) bytes[at] = bits >> 4
      return bytes.subarray(0, at + Math.max(0, count - 1))
    },
  }
}
