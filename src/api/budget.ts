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
/** However much one owner sends, or pretends to, there is room for another. */
const mostOfOne = 0.75
/** The fields themselves, and what lies between the parts. */
const maxFormBytes = maxBodyBytes + 2 ** 20

interface Budget {
  /**
   * Resolves, in the order of asking, when there is room; throws `overloaded` when that takes too long, or when the asker
   * is gone. No owner has more than three quarters of it.
   */
  take(bytes: number, asker?: Asker): Promise<Disposable>
}

interface Asker {
  owner: string
  gone: AbortSignal
}

export function openBudget(total: number, patience: (ms: number) => AbortSignal = AbortSignal.timeout): Budget {
  let free = total
  const waiting = new Set<Place>()
  const held = new Map<string, number>()
  const heldBy = (owner: string) => held.get(owner) ?? 0

  /** One that has its share waits for its own, and holds up nobody else. */
  const hasEnough = ({ owner, bytes }: Place) =>
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

  function giveBack({ owner, bytes }: Place): void {
    free += bytes
    const left = heldBy(owner) - bytes
    if (left > 0) held.set(owner, left)
    else held.delete(owner)
    admitNext()
  }

  return {
    async take(asked, { owner, gone } = { owner: '', gone: new AbortController().signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const place: Place = { owner, bytes: Math.min(asked, total), admit: resolve }
      waiting.add(place)
      admitNext()
      if (waiting.has(place)) {
        const giveUp = () => {
          if (!waiting.delete(place)) return
          reject(new Problem('overloaded', 'Too many uploads at once. Try again shortly.', { retryable: true }))
          admitNext()
        }
        AbortSignal.any([patience(patienceMs), gone]).addEventListener('abort', giveUp)
        if (gone.aborted) giveUp()
      }
      await promise
      let isHeld = true
      return {
        [Symbol.dispose]() {
          if (isHeld) giveBack(place)
          isHeld = false
        },
      }
    },
  }
}

interface Place {
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
 * The hook that holds a share of the budget from before a body is read until its request is answered, or its client is
 * gone: of such a one no other hook is ever called.
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
      const share = await limits.budget.take(bytes, { owner: request.token.name, gone: gone.signal })
      if (gone.signal.aborted) share[Symbol.dispose]()
      else gone.signal.addEventListener('abort', () => share[Symbol.dispose]())
    },
  }
}
