import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { ownerOf } from '../../core/token.ts'
import { wantsNulls } from '../wire.ts'
import type { Unread } from './unread.ts'

/** One connection that receives events until either side closes it. */
export interface StreamClient {
  readonly owner: string
  readonly nulls: boolean
  isGone(): boolean
  /** Begins the response. Until then errors are returned as on other routes. */
  start(text: string): void
  send(text: string | Buffer): void
  /** Resolves when the client has read enough or disconnected. A client that takes too long is disconnected. */
  flushed(): Promise<void>
  /** Sends the text, then closes. Does nothing before `start`. */
  end(text: string | Buffer): void
  /** Disconnects at once. The client can reconnect and continue where it was. */
  drop(): void
}

/** If so many bytes wait for a client that does not read, it is disconnected. */
const mostWaiting = 2 ** 20
/** How long `flushed` waits for a client, as for other large responses. */
const longestStallMs = 120_000

/** Proxies and browsers must neither delay nor change events. */
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
  const owner = ownerOf(request.token)
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
      // It disconnected before the response began.
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
