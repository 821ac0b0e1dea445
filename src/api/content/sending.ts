import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenObject } from '../../buckets/bucket.ts'
import type { Buffers } from './buffers.ts'
import { type Check, unusable } from './soundness.ts'

interface Sending {
  /** The token that downloads it. */
  owner: string
  object: OpenObject
  /** How many are to be sent. */
  bytes: number
  buffers: Buffers
  /** Checks each piece before it is sent. */
  check: Check | undefined
  reply: FastifyReply
  /** Sets the headers. Called once the first bytes are read, so that an error before does not carry them. */
  describe(): void
  /** The response began and can't be completed. The connection is closed afterwards. */
  onCut(error: unknown): void
}

/**
 * Sends an object and closes it. Not as a stream: only the callback of a write says that a buffer can be used again.
 * Nothing is read ahead, because the system's own buffer keeps the client busy during a read. Throws only before the
 * response has begun. A client that leaves is not an error.
 */
export async function sendObject(sending: Sending): Promise<FastifyReply> {
  const { object, reply, onCut } = sending
  const { raw } = reply
  await using _object = object
  // A read that takes long, as from a slow server, ends when the client leaves.
  raw.once('close', () => Promise.resolve(object[Symbol.asyncDispose]()).catch(() => {}))
  try {
    let left = sending.bytes
    while (left > 0 && !raw.destroyed) left -= await sendPiece(sending, left)
    begin(sending)
    if (!raw.destroyed) raw.end()
  } catch (error) {
    if (raw.destroyed) return reply.hijack()
    if (!raw.headersSent) throw error
    onCut(error)
    raw.destroy()
  }
  return reply
}

/** Returns how many bytes it had. */
async function sendPiece(sending: Sending, left: number): Promise<number> {
  const { owner, object, buffers, check, reply } = sending
  const buffer = buffers.take(owner)
  try {
    const filled = await object.read(buffer.subarray(0, left))
    // A file that became shorter meanwhile must not look like a slow response.
    if (filled === 0) throw unusable(`the last ${left} bytes are missing`)
    const piece = buffer.subarray(0, filled)
    await check?.add(piece)
    begin(sending)
    if (!reply.raw.destroyed) await written(reply.raw, piece)
    return filled
  } finally {
    buffers.give(buffer, owner)
  }
}

/** Has no effect if it has begun. */
function begin({ reply, describe }: Sending): void {
  if (reply.raw.headersSent) return
  describe()
  reply.hijack()
  reply.raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>)
}

/** Waits until the system has taken the bytes, or the connection is closed: then the callback may not be called. */
function written(raw: FastifyReply['raw'], bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('close', done)
      resolve()
    }
    raw.once('close', done)
    raw.write(bytes, done)
  })
}

/** How many requests of a connection have no complete response. */
const unanswered = new WeakMap<Socket, number>()
/** No client sends this many requests before it reads a response. */
const mostUnanswered = 100

/** A client that sends too many requests at once on one connection is disconnected: each that waits takes memory. */
export function limitPipelined(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const { socket } = request.raw
  const count = (unanswered.get(socket) ?? 0) + 1
  unanswered.set(socket, count)
  reply.raw.once('close', () => unanswered.set(socket, Number(unanswered.get(socket)) - 1))
  if (count > mostUnanswered) socket.destroy()
  done()
}

/**
 * A client may send several requests at once on one connection. Only the one whose turn it is holds a file and a buffer.
 * False if the client has left.
 */
export async function waitForTurn({ raw, request }: FastifyReply): Promise<boolean> {
  const { socket } = request.raw
  if (raw.socket || socket.destroyed) return !socket.destroyed
  // Each request that waits is a listener.
  socket.setMaxListeners(2 * mostUnanswered)
  await new Promise<void>((resolve) => {
    const done = () => {
      raw.off('socket', done)
      socket.off('close', done)
      resolve()
    }
    raw.once('socket', done)
    socket.once('close', done)
  })
  return !socket.destroyed
}
