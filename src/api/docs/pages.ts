import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseSize } from '../../core/catalog.ts'
import { parseRange } from '../../core/range.ts'
import type { Size } from '../../core/task.ts'
import { notFoundHandler } from '../errors.ts'
import type { ModelDependencies } from '../models.ts'
import { buildDocument, exampleAddress } from '../openapi/document.ts'
import { pathParam, type Route } from '../route.ts'
import { html } from './html.ts'
import { renderModel, renderModels, renderNoModel } from './model.ts'
import { heading, pageHeaders, renderPage } from './page.ts'
import { writeSummary } from './summary.ts'

/** An engine may announce any size. */
const mostPixels = 9_000_000

/** A film of `studio`: `node docs/sample.ts` draws it again. */
const sampleFile = new URL('../../../assets/sample.mp4', import.meta.url)

/** The documentation of the service: the document for programs, and pages for people. */
export function openPages(routes: readonly Route[], models: ModelDependencies) {
  const { catalog } = models
  const document = once(() => buildDocument(routes, version()))
  // All responses share it: anybody may request it very often, and read nothing.
  const json = once(() => tagged(JSON.stringify(document())))
  const reference = once(() => tagged(renderReference()))
  const sample = once(() => {
    const bytes = readFileSync(sampleFile)
    return { bytes, etag: `"${hash('sha256', bytes)}"` }
  })
  const images = new Map<string, Promise<Buffer>>()
  const send = (reply: FastifyReply, page: string) => reply.headers(pageHeaders).send(page)

  return {
    async document(request: FastifyRequest, reply: FastifyReply) {
      // Anybody may read it, including pages of other origins that show OpenAPI documents.
      reply.header('access-control-allow-origin', '*').type('application/json; charset=utf-8')
      return sendTagged(request, reply, json())
    },
    reference: async (request: FastifyRequest, reply: FastifyReply) =>
      sendTagged(request, reply.headers(pageHeaders), reference()),
    summary: async (request: FastifyRequest, reply: FastifyReply) =>
      // It has the address of the request, so a shared cache must not keep it.
      reply
        .headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'private, no-cache' })
        .send(writeSummary(document(), catalog, baseOf(request)).replace(exampleAddress, baseOf(request))),
    models: async (_request: FastifyRequest, reply: FastifyReply) => send(reply, renderModels(models)),
    async model(request: FastifyRequest, reply: FastifyReply) {
      const name = pathParam(request, '*')
      const entry = catalog.entries.get(name)
      if (entry) return send(reply, renderModel(entry, models, baseOf(request)))
      return send(reply.code(404), renderNoModel(name, catalog))
    },
    /** Safari plays only what it can read in parts. */
    async sample({ headers }: FastifyRequest, reply: FastifyReply) {
      const { bytes, etag } = sample()
      reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'public, no-cache' }).type('video/mp4')
      if (headers['if-none-match']?.includes(etag)) return reply.code(304).send()
      const range = parseRange(headers.range ?? '', bytes.length)
      // HTTP allows the whole video for any range.
      if (range === undefined || range === 'unsatisfiable') return reply.send(bytes)
      const { start, end } = range
      reply.code(206).header('content-range', `bytes ${start}-${end}/${bytes.length}`)
      return reply.send(bytes.subarray(start, end + 1))
    },
    /** Only in sizes that an example needs, so that no client can have others drawn. */
    async image(request: FastifyRequest, reply: FastifyReply) {
      const name = /^(\d+x\d+)\.png$/.exec(pathParam(request, 'size'))?.[1] ?? ''
      const size = parseSize(name)
      const entries = [...catalog.entries.values()]
      const isNeeded = entries.some(({ card }) => card.image === 'required' && card.size.default === name)
      if (!size || !isNeeded || size.width * size.height > mostPixels) return notFoundHandler(request)
      const image = images.get(name) ?? drawImage(size)
      images.set(name, image)
      return reply.type('image/png').send(await image)
    },
  }
}

/** In place of the reference, which is built with the console: where the same is found. */
function renderReference(): string {
  const body = [
    heading(1, 'top', 'API reference'),
    html`<p class="lead">This service runs without its console, which has the reference to read.</p>`,
    html`<ul>
<li><a href="/openapi.json">openapi.json</a>: every route and shape, as OpenAPI 3.1, for tools that show or use it</li>
<li><a href="/docs/models">Models</a>: what each accepts, and examples that run as they are</li>
<li><a href="/llms.txt">llms.txt</a>: the API in short</li>
</ul>`,
  ]
  return renderPage({ title: 'API reference', place: 'reference', body })
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version
}

/**
 * The address that the client used, for examples that it can paste. The header can have any value, so only a plain host
 * is repeated. A proxy that ends TLS sets `x-forwarded-proto`.
 */
function baseOf({ headers, socket }: FastifyRequest): string {
  const { host = '', 'x-forwarded-proto': scheme } = headers
  const isHost = /^([a-z0-9](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)
  return `${scheme === 'https' ? 'https' : 'http'}://${isHost ? host : `127.0.0.1:${socket.localPort}`}`
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

interface Tagged {
  text: string
  etag: string
}

function tagged(text: string): Tagged {
  return { text, etag: `"${hash('sha256', text)}"` }
}

/** Sends 304 if the client has this version. */
function sendTagged({ headers }: FastifyRequest, reply: FastifyReply, { text, etag }: Tagged) {
  reply.header('etag', etag)
  return headers['if-none-match']?.includes(etag) ? reply.code(304).send() : reply.send(text)
}

/** The colours of an evening sky, from top to bottom. */
const colours = [
  [38, 44, 92],
  [206, 104, 92],
  [252, 214, 150],
] as const

/** A PNG of that size, for examples that need an image. Each row has one colour, so that it compresses well. */
async function drawImage({ width, height }: Size): Promise<Buffer> {
  const rowBytes = 1 + width * 3
  const rows = Buffer.alloc(rowBytes * height)
  for (let row = 0; row < height; row += 1) {
    // The first byte of a row is its filter: 0, which is none.
    rows.fill(Buffer.from(colourAt(row / height)), row * rowBytes + 1, (row + 1) * rowBytes)
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // 8 bits for each of red, green and blue.
  head.set([8, 2], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const pixels = await promisify(deflate)(rows)
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

function colourAt(part: number): number[] {
  const place = part * (colours.length - 1)
  const [above, below] = colours.slice(Math.floor(place))
  const share = place % 1
  return [0, 1, 2].map((at) => Math.round((above?.[at] ?? 0) * (1 - share) + (below?.[at] ?? 0) * share))
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
