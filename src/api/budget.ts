import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import { maxBodyBytes, tooLarge } from './body.ts'

/*
 * Bodies are held in memory while they are read and their images decoded. What all of them may take together is
 * bounded: a request that would exceed it waits, unread, until others are done.
 */
const totalBytes = 256 * 2 ** 20
/** What is smaller is not counted. */
const smallBytes = 64 * 2 ** 10
const patienceMs = 30_000
/** The fields themselves, and what lies between the parts. */
const maxFormBytes = maxBodyBytes + 2 ** 20

export interface Budget {
  /** Resolves, in the order of asking, when there is room; throws `overloaded` when that takes too long. */
  take(bytes: number): Promise<Disposable>
}

export function openBudget(
  total: number,
  patience: (ms: number) => AbortSignal = AbortSignal.timeout,
  what = 'uploads',
): Budget {
  let free = total
  const waiting = new Set<{ bytes: number; admit: () => void }>()

  function admitNext(): void {
    for (const next of waiting) {
      if (next.bytes > free) return
      waiting.delete(next)
      free -= next.bytes
      next.admit()
    }
  }

  return {
    async take(asked) {
      const bytes = Math.min(asked, total)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const place = { bytes, admit: resolve }
      waiting.add(place)
      admitNext()
      if (waiting.has(place)) {
        patience(patienceMs).addEventListener('abort', () => {
          if (waiting.delete(place))
            reject(new Problem('overloaded', `Too many ${what} at once. Try again shortly.`, { retryable: true }))
        })
      }
      await promise
      let held = true
      return {
        [Symbol.dispose]() {
          if (held) free += bytes
          held = false
          admitNext()
        },
      }
    },
  }
}

export interface BodyLimits {
  budget: Budget
  /** The largest form. */
  bytes: number
  tooLarge(): Problem
}

function usualLimits(): BodyLimits {
  return { budget: openBudget(totalBytes), bytes: maxFormBytes, tooLarge }
}

/** The hooks that hold a share of the budget from before a body is read until its request is answered. */
export function boundBodies(limits = usualLimits()) {
  const shares = new WeakMap<FastifyRequest, Disposable>()
  return {
    async onRequest(request: FastifyRequest): Promise<void> {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      const bytes = encoding === undefined ? Number(length ?? 0) : limits.bytes
      // Fastify checks the length of JSON, but not of a form.
      if (bytes > limits.bytes) throw limits.tooLarge()
      if (bytes > smallBytes) shares.set(request, await limits.budget.take(bytes))
    },
    // Not when the answer has left: of a client that went away it never does, and its share would be lost for good.
    async onSend(request: FastifyRequest, _reply: FastifyReply): Promise<void> {
      shares.get(request)?.[Symbol.dispose]()
    },
  }
}
