import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import fastify from 'fastify'
import type { OpenObject } from '../../buckets/bucket.ts'
import { type Buffers, openBuffers } from './buffers.ts'
import { sendObject } from './sending.ts'

/* Each buffer is given back, once, and only a bounded number of bytes is held by clients that do not read. */

const mebibyte = 2 ** 20
/** More than the system buffers for a client that does not read. */
const film = randomBytes(16 * mebibyte)

/** Real buffers, and which of them are in use. */
function countedBuffers(): Buffers & { inUse: Set<Buffer> } {
  const buffers = openBuffers()
  const inUse = new Set<Buffer>()
  return {
    inUse,
    take(owner) {
      const buffer = buffers.take(owner)
      assert.ok(!inUse.has(buffer), 'a buffer in use was taken')
      inUse.add(buffer)
      return buffer
    },
    give(buffer, owner) {
      assert.ok(inUse.delete(buffer), 'a buffer that is not in use was given back')
      buffers.give(buffer, owner)
    },
  }
}

/** The film in memory. `fault` may throw before a read, or delay it. */
function openFilm(fault: (at: number) => Promise<void>): OpenObject {
  let at = 0
  return {
    bytes: film.length,
    version: '',
    stream: Readable.from([]),
    async read(into) {
      await fault(at)
      const copied = film.copy(into, 0, at)
      at += copied
      return copied
    },
    async [Symbol.asyncDispose]() {},
  }
}

interface World extends AsyncDisposable {
  buffers: ReturnType<typeof countedBuffers>
  /** How many downloads have begun, and not ended. */
  running(): number
  /** Opens a connection, and requests the film on it. */
  request(): Promise<Socket>
}

async function serve(fault: (at: number) => Promise<void> = async () => {}): Promise<World> {
  const buffers = countedBuffers()
  const app = fastify()
  let running = 0
  app.get('/', async (_request, reply) => {
    running += 1
    const describe = () => void reply.header('content-length', film.length)
    const sending = { owner: 'alice', object: openFilm(fault), bytes: film.length, check: undefined, onCut() {} }
    return sendObject({ ...sending, buffers, reply, describe }).finally(() => {
      running -= 1
    })
  })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  return {
    buffers,
    running: () => running,
    async request() {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      return socket
    },
    async [Symbol.asyncDispose]() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

async function ended({ running }: World): Promise<void> {
  while (running() > 0) await new Promise((resolve) => setImmediate(resolve))
}

async function bodyOf(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const all = Buffer.concat(chunks)
  return all.subarray(all.indexOf('\r\n\r\n') + 4)
}

it('a response gives its buffers back, whether it is complete or cut off', async () => {
  await using world = await serve()
  assert.ok(film.equals(await bodyOf(await world.request())))
  await ended(world)
  assert.equal(world.buffers.inUse.size, 0)
  await using broken = await serve(async (at) => {
    if (at > 4 * mebibyte) throw new Error('EIO')
  })
  const begun = await bodyOf(await broken.request())
  assert.ok(begun.length < film.length && begun.equals(film.subarray(0, begun.length)))
  await ended(broken)
  assert.equal(broken.buffers.inUse.size, 0)
})

it('a client that leaves in the middle gives its buffer back, once the disk no longer writes into it', async () => {
  const [reading, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await using world = await serve(async (at) => {
    if (at === 0) return
    reading.resolve()
    await open.promise
  })
  const socket = await world.request()
  await reading.promise
  socket.destroy()
  await once(socket, 'close')
  assert.equal(world.buffers.inUse.size, 1)
  open.resolve()
  await ended(world)
  assert.equal(world.buffers.inUse.size, 0)
})

/** Its client reads the beginning of the film, and then nothing more. */
async function stop(requested: Promise<Socket>): Promise<Socket> {
  const socket = await requested
  await once(socket, 'data')
  return socket.pause()
}

it('300 clients that stop reading hold little memory, another one gets all bytes, and all buffers come back', async () => {
  await using world = await serve()
  const stopped = await Promise.all(Array.from({ length: 300 }, () => stop(world.request())))
  assert.ok(film.equals(await bodyOf(await world.request())))
  const held = [...world.buffers.inUse].reduce((sum, { length }) => sum + length, 0)
  assert.ok(held <= (32 * 256 + 268 * 64) * 1024, `${held} bytes`)
  assert.ok(world.buffers.inUse.size >= 290, `${world.buffers.inUse.size} buffers`)
  for (const socket of stopped) socket.destroy()
  await ended(world)
  assert.equal(world.buffers.inUse.size, 0)
})
