import type { FastifyRequest } from 'fastify'
import type { Access } from '../../access.ts'
import { ownerOf } from '../../core/token.ts'

/** Ends streams whose request would be refused now, or whose token belongs to another project. */
export interface TokenWatch {
  add(request: FastifyRequest, dismiss: () => void): void
  /** Checks one stream: a token may have expired, which is no change. */
  check(dismiss: () => void): void
  remove(dismiss: () => void): void
}

interface WatchDependencies {
  access: Access
  /** Sets the token of the request, or throws. */
  identify(request: FastifyRequest): void
}

export function openTokenWatch({ access, identify }: WatchDependencies): TokenWatch {
  const streams = new Map<() => void, { request: FastifyRequest; owner: string }>()
  const check = (dismiss: () => void) => {
    const stream = streams.get(dismiss)
    if (!stream) return
    try {
      identify(stream.request)
    } catch {
      return dismiss()
    }
    if (ownerOf(stream.request.token) !== stream.owner) dismiss()
  }
  access.onChange(() => {
    for (const dismiss of streams.keys()) check(dismiss)
  })
  return {
    add(request, dismiss) {
      streams.set(dismiss, { request, owner: ownerOf(request.token) })
      // A change may have come since the request did.
      check(dismiss)
    },
    check,
    remove: (dismiss) => void streams.delete(dismiss),
  }
}
