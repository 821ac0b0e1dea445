import type { Json } from '../../core/task.ts'
import type { Call, InputImage } from '../provider.ts'
import { problems, unclear } from './responses.ts'

/* How an adapter sends requests: keys, paths, bodies, downloads. */

type HeaderFields = Readonly<Record<string, string>>

export interface Payload {
  headers: HeaderFields
  body: string | Uint8Array
}

/** Sends the requests to one provider, each with the key of the call's account. */
export interface UpstreamClient {
  /** The one billable request of a submit. */
  send(path: string, payload: Payload, call: Call): Promise<Response>
  get(path: string, call: Call): Promise<Response>
  request(method: 'POST' | 'PUT' | 'DELETE', path: string, call: Call, payload?: Payload): Promise<Response>
  /** The bytes of a result from the provider itself. */
  download(path: string, call: Call): Promise<Response>
}

export function createClient(keyOf: (call: Call) => HeaderFields): UpstreamClient {
  const initOf = <Method extends string>(method: Method, call: Call, payload?: Payload) => ({
    method,
    headers: { ...keyOf(call), ...payload?.headers },
    ...(payload && { body: payload.body }),
  })
  return {
    send: (path, payload, call) => call.send(path, initOf('POST', call, payload), call.signal),
    get: (path, call) => call.fetch(path, initOf('GET', call), call.signal),
    request: (method, path, call, payload) => call.fetch(path, initOf(method, call, payload), call.signal),
    download: (path, call) => readDownload(path, call, keyOf(call)),
  }
}

/** The key as a bearer token. An engine of the operator's own may have no key. */
export function bearer({ credential }: Call): HeaderFields {
  return credential === null ? {} : { authorization: `Bearer ${credential}` }
}

export function toSegment(operation: Json): string {
  return encodeURIComponent(String(operation))
}

export function toJson(value: unknown): Payload {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** A form that has the image as a file. */
export async function toForm(fields: object, imageField: string, image: InputImage | null): Promise<Payload> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  if (image) {
    const name = `image.${image.type.slice('image/'.length)}`
    form.set(imageField, new File([Buffer.from(image.bytes)], name, { type: image.type }))
  }
  const encoded = new Response(form)
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' }
  return { headers, body: new Uint8Array(await encoded.arrayBuffer()) }
}

export function dataUri(image: InputImage): string {
  return `data:${image.type};base64,${base64(image)}`
}

export function base64({ bytes }: InputImage): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** The bytes of a result from another host, which gets no key. A path would lead to the provider, so it must be a URL. */
export async function downloadFrom(link: string, call: Call): Promise<Response> {
  if (!/^https?:\/\//i.test(link)) throw problems.gone('the link is not an http or https URL')
  return readDownload(link, call, {})
}

async function readDownload(link: string, call: Call, headers: HeaderFields): Promise<Response> {
  const response = await call.download(link, { headers }, call.signal)
  if (response.ok) return response
  // The server failed, not the link: the same link may work later.
  if (response.status >= 500 || response.status === 429 || response.status === 408)
    throw unclear(`a download got ${response.status}`)
  throw problems.gone(`a download got ${response.status}`)
}
