import type { Film, Origin } from './client.ts'

/** A film as one request to a Videos API. */
interface Encoded {
  path: string
  body: string | FormData
  headers: Record<string, string>
}

/** JSON, unless there are bytes to send: then a form, as OpenAI's SDKs send it. */
export function encode({ image, of, ...film }: Film): Encoded {
  if (of) return encodeDerived(film, of)
  const path = '/videos'
  if (image && 'bytes' in image) {
    const file = new File([image.bytes], image.name, { type: image.type })
    return { path, body: formOf({ ...film, input_reference: file }), headers: {} }
  }
  return { path, ...jsonOf(image ? { ...film, input_reference: { image_url: image.url } } : film) }
}

const paths = { edit: '/videos/edits', extension: '/videos/extensions' }

/** The model, size and length are those of the source: nothing is sent of what was left out. */
function encodeDerived(film: Omit<Film, 'image' | 'of'>, { kind, video }: Origin): Encoded {
  const { model, ...others } = film
  const fields = model === '' ? others : film
  if (kind === 'remix') return { path: `/videos/${encodeURIComponent(video.id)}/remix`, ...jsonOf(fields) }
  const path = paths[kind]
  if ('id' in video) return { path, ...jsonOf({ ...fields, video }) }
  const file = new File([video.bytes], video.name, { type: 'video/mp4' })
  return { path, body: formOf({ ...fields, video: file }), headers: {} }
}

function jsonOf(fields: object): Omit<Encoded, 'path'> {
  return { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } }
}

function formOf(fields: Record<string, unknown>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof File) form.set(name, value)
    else form.set(name, String(value))
  }
  return form
}
