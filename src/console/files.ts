import { hash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFoundHandler } from '../api/errors.ts'
import { pathParam } from '../api/route.ts'
import { dropStalled } from '../api/server.ts'

/** The built console: its page, its files, and the paths that it has pages for. */
export interface ConsoleFiles {
  /** Adds `/`, the files, and the paths of the pages. */
  addTo(app: FastifyInstance): void
  /** Sends the reference of the API. */
  sendReference(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
  /** Sends the page for a path that does not exist. */
  sendNotFound(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

interface FileOptions {
  /** `console/dist`. */
  folder: string
  /** Where videos may come from besides this service: a bucket that delivers them itself. */
  mediaOrigins?: readonly string[]
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webp': 'image/webp',
}

/** Compressed by the build, the best first. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/** Null if the console is not built. */
export function findConsoleFiles({ folder, mediaOrigins = [] }: FileOptions): ConsoleFiles | null {
  // It is the last file of a build.
  const pathsFile = join(folder, 'paths.json')
  if (!existsSync(pathsFile)) return null
  const names = new Set(globSync('{*,assets/*}', { cwd: folder }).map((path) => path.replaceAll('\\', '/')))
  const read = openReads(folder)
  const headers = pageHeaders(mediaOrigins)
  const [frame, reference] = [openPage('index.html'), openPage('docs.html')]

  function openPage(name: string) {
    // Weak, because it is the same for each encoding.
    const etag = `W/"${hash('sha256', readFileSync(join(folder, name)))}"`
    return (request: FastifyRequest, reply: FastifyReply) => {
      vary(reply, 'Accept, Accept-Encoding').headers({ ...headers, etag })
      return request.headers['if-none-match']?.includes(etag) ? reply.code(304).send() : send(request, reply, name)
    }
  }

  async function sendPage(request: FastifyRequest, reply: FastifyReply) {
    return request.headers.accept?.includes('text/html') ? frame(request, reply) : notFoundHandler(request)
  }

  async function sendFile(request: FastifyRequest, reply: FastifyReply) {
    const name = `assets/${pathParam(request, '*')}`
    const type = types[extname(name)]
    // Compressed files have a type of their own, and are not sent by their names.
    if (!names.has(name) || type === undefined) return notFoundHandler(request)
    vary(reply, 'Accept-Encoding').headers({
      'content-type': type,
      // Their names have a digest of their content.
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
    return send(request, reply, name)
  }

  async function send(
    { headers: { 'accept-encoding': accepted = '' } }: FastifyRequest,
    reply: FastifyReply,
    name: string,
  ) {
    const found = encodings.find(([encoding, ending]) => accepts(accepted, encoding) && names.has(name + ending))
    if (found) reply.header('content-encoding', found[0])
    return reply.send(await read(name + (found?.[1] ?? '')))
  }

  return {
    sendReference: async (request, reply) => reference(request, reply),
    sendNotFound: (request, reply) =>
      send(request, vary(reply, 'Accept, Accept-Encoding').headers(headers).code(404), 'index.html'),
    addTo(app) {
      // The build writes the first part of each path that has a page.
      const parts = JSON.parse(readFileSync(pathsFile, 'utf8')) as readonly string[]
      const pages = parts.flatMap((part) => [`/${part}`, `/${part}/*`])
      // A wrong path of an API client, such as POST /videos, stays an unknown one.
      const config = { isRefusal: true } as const
      for (const url of ['/', ...pages]) app.get(url, { config }, sendPage)
      app.get('/assets/*', { config, onRequest: dropStalled }, sendFile)
    },
  }
}

/**
 * Each file is read once, when it is first needed, and all responses send the same bytes: clients without a token can
 * request them very often, and read nothing.
 */
function openReads(folder: string): (name: string) => Promise<Buffer> {
  const known = new Map<string, Promise<Buffer>>()
  return (name) => {
    const found = known.get(name)
    if (found) return found
    const reading = readFile(join(folder, name))
    known.set(name, reading)
    reading.catch(() => known.delete(name))
    return reading
  }
}

function pageHeaders(mediaOrigins: readonly string[]): Record<string, string> {
  const media = ["'self'", 'blob:', ...mediaOrigins].join(' ')
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src ${media}`,
      `media-src ${media}`,
      "connect-src 'self'",
      "font-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'permissions-policy': 'camera=(), microphone=(), geolocation=()',
    'x-content-type-options': 'nosniff',
    // See `isFromOwnPage`.
    'referrer-policy': 'same-origin',
  }
}

/** Whether a browser reads the encoding. Those that do name it; `*` and weights other than 0 are not compared. */
function accepts(header: string, encoding: string): boolean {
  const found = header.split(',').find((part) => part.split(';')[0]?.trim() === encoding)
  return found !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(found)
}

function vary(reply: FastifyReply, names: string): FastifyReply {
  const others = reply.getHeader('vary')
  return reply.header('vary', others === undefined ? names : `${others}, ${names}`)
}
