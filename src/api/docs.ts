import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Catalog } from '../core/catalog.ts'
import type { openPages } from './docs/pages.ts'
import { notFoundHandler } from './errors.ts'
import type { CollectedRoute } from './openapi/routes.ts'

type Pages = ReturnType<typeof openPages>

/**
 * What is told about the service to whoever asks: the document for programs, and pages for people. It is loaded when
 * somebody first does: that takes 140 ms and 17 MB (measured), which most processes never need.
 */
export function openDocs(routes: readonly CollectedRoute[], catalog: Catalog) {
  let loading: Promise<Pages> | undefined
  const load = async (): Promise<Pages> => (await import('./docs/pages.ts')).openPages(routes, catalog)
  const later = (name: keyof Pages) => async (request: FastifyRequest, reply: FastifyReply) => {
    loading ??= load()
    return (await loading)[name](request, reply)
  }
  return {
    ...{ document: later('document'), reference: later('reference') },
    ...{ models: later('models'), model: later('model'), image: later('image') },
  }
}

/** A person who opens the address of the service in a browser wants to read; a client has the wrong path. */
export function leadToDocs(request: FastifyRequest, reply: FastifyReply): void {
  if (!request.headers.accept?.includes('text/html')) notFoundHandler(request)
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? 'Accept' : `${others}, Accept`).redirect('/docs')
}
