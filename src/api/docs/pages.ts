import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Catalog, parseSize } from '../../core/catalog.ts'
import { notFoundHandler } from '../errors.ts'
import { buildDocument } from '../openapi/document.ts'
import type { Route } from '../route.ts'
import { drawImage } from './image.ts'
import { renderModel, renderModels, renderNoModel } from './model.ts'
import { pageHeaders } from './page.ts'
import { renderReference } from './reference.ts'

/** An engine may call any size its own. */
const mostPixels = 9_000_000

/** Stands for the address of the service in a page that is rendered before a client asks for it. */
const anyBase = 'https://address.invalid'

/** What is told about the service to whoever asks: the document for programs, and pages for people. */
export function openPages(routes: readonly Route[], catalog: Catalog) {
  const document = once(() => buildDocument(routes, version()))
  const json = once(() => tagged(JSON.stringify(document())))
  // Rendering takes 50 ms (measured), and needs no token: it happens once, whatever address clients send.
  const reference = once(() => renderReference(document(), anyBase).split(anyBase))
  const images = new Map<string, Promise<Buffer>>()
  const send = (reply: FastifyReply, page: string) => reply.headers(pageHeaders).send(page)

  return {
    async document(request: FastifyRequest, reply: FastifyReply) {
      // Anybody may read it, also a page of somebody else's that shows such documents.
      reply.header('access-control-allow-origin', '*').type('application/json; charset=utf-8')
      return sendTagged(request, reply, json())
    },
    reference: async (request: FastifyRequest, reply: FastifyReply) =>
      sendTagged(request, reply.headers(pageHeaders), tagged(reference().join(baseOf(request)))),
    models: async (_request: FastifyRequest, reply: FastifyReply) => send(reply, renderModels(catalog)),
    async model(request: FastifyRequest, reply: FastifyReply) {
      const name = (request.params as { '*': string })['*']
      const entry = catalog.entries.get(name)
      if (entry) return send(reply, renderModel(entry, catalog, baseOf(request)))
      return send(reply.code(404), renderNoModel(name, catalog))
    },
    /** Only in sizes that an example needs: nobody can have others drawn. */
    async image(request: FastifyRequest, reply: FastifyReply) {
      const name = /^(\d+x\d+)\.png$/.exec((request.params as { size: string }).size)?.[1] ?? ''
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

function version(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version
}

/**
 * Where the client found us, for examples that it can paste. It may say anything there, so that what is no plain host
 * is not repeated. A proxy that ends TLS says so.
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

/** A client that has it already is only told so. */
function sendTagged({ headers }: FastifyRequest, reply: FastifyReply, { text, etag }: Tagged) {
  reply.header('etag', etag)
  return headers['if-none-match']?.includes(etag) ? reply.code(304).send() : reply.send(text)
}
