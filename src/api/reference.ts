import type { ModelCard } from '../core/catalog.ts'
import { openFairTurns } from '../core/fair.ts'
import { examineImage, type ImageFacts } from '../core/image.ts'
import { urlsIn } from '../core/parameters.ts'
import { Problem } from '../core/problem.ts'
import type { Parameters } from '../core/task.ts'
import type { Media } from '../media/media.ts'
import type { ClientOutbound } from '../outbound.ts'
import { Upload } from './body.ts'
import { readImageText } from './image-text.ts'
import type { LongText } from './long-text.ts'
import type { NamedImage } from './spellings/images.ts'

/** The reference image of a request, checked as far as it can be before the task exists. */
export type Reference = { url: string } | ({ bytes: Uint8Array } & ImageFacts)

/** How long an image, a video or a URL of a request is checked: less than the minute after which many clients give up. */
export const inputCheckMs = 45_000

/** Reads and checks the image that `spellings.ts` found in the request. */
export async function readReference(
  source: NamedImage | undefined,
  owner: string,
  { media, outbound }: { media: Media; outbound: ClientOutbound },
): Promise<Reference | null> {
  if (!source) return null
  const signal = AbortSignal.timeout(inputCheckMs)
  const { param } = source
  const read = source.value instanceof Upload ? source.value : await readText(source.value, { param, owner, signal })
  if ('url' in read) {
    await outbound.check(read.url, param, signal)
    return read
  }
  const facts = examineImage(read.bytes, param)
  try {
    await media.inspect({ bytes: read.bytes, ...facts }, owner, signal)
  } catch (error) {
    throw refusalOf(error, param, signal)
  }
  return { bytes: read.bytes, ...facts }
}

/** One long text is decoded at a time: however many one owner sends, another owner waits for at most one of them. */
const turns = openFairTurns({ slots: 1 })

interface TextSource {
  param: string
  owner: string
  signal: AbortSignal
}

async function readText(text: string | LongText, { param, owner, signal }: TextSource) {
  // A short text is decoded in a few milliseconds, so it does not wait for a long one.
  if (typeof text === 'string') return await readImageText(text, param)
  const taken = turns.take(owner, signal).catch((error) => Promise.reject(refusalOf(error, param, signal)))
  using _turn = await taken
  return await readImageText(text, param)
}

/** The image is at fault only if the decoder says so. If it could not be checked, that is 503. */
function refusalOf(error: unknown, param: string, { aborted }: AbortSignal): unknown {
  const { code, message } = Problem.from(error)
  if (code === 'invalid_image') return new Problem(code, message, { param, cause: error })
  if (code === 'image_unavailable') return new Problem('overloaded', message, { param, retryable: true, cause: error })
  if (!aborted) return error
  const busy = 'Too many images are waiting to be checked. Try again shortly.'
  return new Problem('overloaded', busy, { retryable: true, cause: error })
}

/** URLs in the parameters of a model follow the same rules as the URL of the reference image. */
export async function checkUrls(card: ModelCard, parameters: Parameters, outbound: ClientOutbound): Promise<void> {
  const urls = urlsIn(card, parameters)
  if (urls.length === 0) return
  const signal = AbortSignal.timeout(inputCheckMs)
  for (const [name, url] of urls) await outbound.check(url, name, signal)
}
