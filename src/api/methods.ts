import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route only reports that this is not offered. */
    isRefusal?: true
  }
}

/** Collects every route that is registered after this, to distinguish a wrong method from a wrong path. */
export function collectMethods(app: FastifyInstance): { refuse(request: FastifyRequest, reply: FastifyReply): void } {
  const routes: { segments: string[]; methods: string[] }[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    routes.push({ segments: url.split('/'), methods: config?.isRefusal ? [] : [method].flat() })
  })
  return {
    /** Throws if the path exists for other methods. */
    refuse(request, reply) {
      const path = request.url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? ''
      const found = routes.filter(({ segments }) => fits(segments, path.split('/')))
      // `/videos/edits` is not a video.
      const exact = found.filter(({ segments }) => segments.join('/') === path)
      const methods = [...new Set((exact.length > 0 ? exact : found).flatMap((route) => route.methods))]
      if (methods.length > 0) throw wrongMethod(request, reply, methods)
    },
  }
}

/** The error for a path that exists for other methods only. */
export function wrongMethod({ method, url }: FastifyRequest, reply: FastifyReply, methods: readonly string[]): Problem {
  reply.header('allow', methods.join(', '))
  const path = url.split('?', 1)[0]?.slice(0, 200)
  const either = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(methods)
  return new Problem('method_not_allowed', `${path} does not accept ${method}. Use ${either}.`)
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  if (isOpen ? path.length < pattern.length : path.length !== pattern.length) return false
  return pattern.every((part, at) => part === '*' || part === path[at] || (part.startsWith(':') && path[at] !== ''))
}
