import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { wantsNulls } from '../wire.ts'
import type { Unread } from './unread.ts'

/** One connection that is sent events until either side ends it. */
export interface StreamClient {
  readonly owner: string
  readonly nulls: boolean
  isGone(): boolean
  /** Begins the answer. Until then whatever goes wrong is answered as it is elsewhere. */
  start(text: string): void
  send(text: string | Buffer): void
  /** Resolves when there is room for more, or the client is gone: one that takes too long is let go. */
  flushed(): Promise<void>
  /** Says that, then closes. One that has not begun is left alone. */
  end(text: string | Buffer): void
  /** Without a word: it can come back and go on where it was. */
  drop(): void
}

/** One that takes nothing is let go when so much waits for it: it can come back and go on where it was. */
const mostWaiting = 2 ** 20
/** While somebody waits until it has taken what there is, for no longer than other answers are waited for. */
const longestStallMs = 120_000

/** Proxies and browsers must neither keep events back nor change them. */
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

interface ClientOptions {
  request: FastifyRequest
  reply: FastifyReply
  clock: Clock
  unread: Unread
  onGone(): void
}

export function openClient({ request, reply, clock, unread, onGone }: ClientOptions): StreamClient {
  const { raw } = reply
  let isStarted = false
  let isFull = false
  let wake: (() => void) | undefined
  const isGone = () => raw.destroyed
  const drop = () => void raw.destroy()
  const { name: owner } = request.token
  raw.once('close', () => {
    unread.set(owner, drop, 0)
    wake?.()
    onGone()
  })
  const isOpen = () => isStarted && !raw.destroyed && !raw.writableEnded
  return {
    owner,
    nulls: wantsNulls(request),
    isGone,
    start(text) {
      reply.hijack()
      // It left before there was anything to close.
      if (isGone()) return onGone()
      isStarted = true
      for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers }))
        if (value !== undefined) raw.setHeader(name, value)
      raw.write(text)
      raw.on('drain', () => {
        isFull = false
        unread.set(owner, drop, 0)
        wake?.()
      })
    },
    send(text) {
      if (!isOpen()) return
      if (raw.writableLength > mostWaiting) return drop()
      isFull = !raw.write(text)
      if (isFull) unread.set(owner, drop, raw.writableLength)
    },
    async flushed() {
      if (!isFull || isGone()) return
      const drained = new AbortController()
      wake = () => drained.abort()
      await clock.sleep(longestStallMs, drained.signal)
      if (!drained.signal.aborted) raw.destroy()
    },
    end(text) {
      if (isOpen()) raw.end(text)
    },
    drop,
  }
}
