import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import { ownerOf } from '../core/token.ts'
import { maxBodyBytes, tooLarge } from './body.ts'

/*
 * Bodies are held in memory while they are read and their images are decoded. All of them together are limited: a
 * request that would exceed the limit waits, unread, until others are done.
 */
const totalBytes = 256 * 2 ** 20
/** Smaller bodies are not counted. */
const smallBytes = 64 * 2 ** 10
const memoryWaitMs = 30_000
/** The largest share of one owner, so that the others can always send. */
const mostOfOne = 0.75
/** A body, and the boundaries between its parts. */
const maxFormBytes = maxBodyBytes + 2 ** 20

interface Budget {
  /**
   * Resolves in order of the calls when enough bytes are free. Throws `overloaded` if that takes too long, or if the
   * client disconnects. No owner gets more than three quarters of all bytes.
   */
  take(bytes: number, requester?: Requester): Promise<Disposable>
}

interface Requester {
  owner: string
  gone: AbortSignal
}

export function openBudget(total: number, patience: (ms: number) => AbortSignal = AbortSignal.timeout): Budget {
  let free = total
  const waiting = new Set<Waiter>()
  const held = new Map<string, number>()
  const heldBy = (owner: string) => held.get(owner) ?? 0

  /** An owner that has its share waits for its own requests, and does not block others. */
  const hasEnough = ({ owner, bytes }: Waiter) =>
    owner !== '' && heldBy(owner) > 0 && heldBy(owner) + bytes > total * mostOfOne

  function admitNext(): void {
    for (const next of waiting) {
      if (hasEnough(next)) continue
      if (next.bytes > free) return
      waiting.delete(next)
      free -= next.bytes
      held.set(next.owner, heldBy(next.owner) + next.bytes)
      next.admit()
    }
  }

  function giveBack({ owner, bytes }: Waiter): void {
    free += bytes
    const left = heldBy(owner) - bytes
    if (left > 0) held.set(owner, left)
    else held.delete(owner)
    admitNext()
  }

  return {
    async take(wanted, { owner, gone } = { owner: '', gone: new AbortController().signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const waiter: Waiter = { owner, bytes: Math.min(wanted, total), admit: resolve }
      waiting.add(waiter)
      admitNext()
      if (waiting.has(waiter)) {
        const giveUp = () => {
          if (!waiting.delete(waiter)) return
          reject(new Problem('overloaded', 'Too many uploads at once. Try again shortly.', { retryable: true }))
          admitNext()
        }
        AbortSignal.any([patience(memoryWaitMs), gone]).addEventListener('abort', giveUp)
        if (gone.aborted) giveUp()
      }
      await promise
      let isHeld = true
      return {
        [Symbol.dispose]() {
          if (isHeld) giveBack(waiter)
          isHeld = false
        },
      }
    },
  }
}

interface Waiter {
  owner: string
  bytes: number
  admit(): void
}

interface BodyLimits {
  budget: Budget
  /** The largest form. */
  bytes: number
  tooLarge(): Problem
}

function usualLimits(): BodyLimits {
  return { budget: openBudget(totalBytes), bytes: maxFormBytes, tooLarge }
}

/**
 * The hook that holds a share of the budget from before a body is read until its response is sent or its client
 * disconnects. It listens for `close`, because no other hook is called if the client disconnects.
 */
export function boundBodies(limits = usualLimits()) {
  return {
    async onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      const bytes = encoding === undefined ? Number(length ?? 0) : limits.bytes
      // Fastify checks the length of JSON, but not of a form.
      if (bytes > limits.bytes) throw limits.tooLarge()
      if (bytes <= smallBytes) return
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const share = await limits.budget.take(bytes, { owner: ownerOf(request.token), gone: gone.signal })
      if (gone.signal.aborted) share[Symbol.dispose]()
      else gone.signal.addEventListener('abort', () => share[Symbol.dispose]())
    },
  }
}
