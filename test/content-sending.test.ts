import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import type { Bucket, OpenObject } from '../src/buckets/bucket.ts'
import { openDisk } from '../src/buckets/index.ts'
import { authorization, type ContentServer, otherAuthorization, serveContent } from './content-server.ts'
import { until } from './service.ts'

/* Buffers are used again, and clients read fast, slowly, or leave: each gets its own bytes, and nothing stays open. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-sending-'))
after(() => rmSync(root, { recursive: true }))
let count = 0

type Serving = ContentServer & AsyncDisposable & { folder: string; bucket: Bucket }

async function serve(
  change: (object: OpenObject) => Partial<OpenObject> = () => ({}),
  mostConnections?: number,
): Promise<Serving> {
  const folder = join(root, String(count++))
  const bucket = await openDisk({ folder })
  const open: Bucket['open'] = async (key, range) => {
    const object = await bucket.open(key, range)
    return object && Object.assign(object, change(object))
  }
  const server = await serveContent({ ...bucket, open }, 'proxy', { length: 1_000, mostConnections })
  return { ...server, folder, bucket, [Symbol.asyncDispose]: server.stop }
}

async function begin({ url }: Serving, path: string, more: Record<string, string> = {}): Promise<IncomingMessage> {
  const headers = { authorization, ...more }
  const [response] = (await once(get(`${url}${path}`, { headers, agent: false }), 'response')) as [IncomingMessage]
  return response
}

async function read(response: IncomingMessage, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= most) break
  }
  return Buffer.concat(chunks)
}

/** The stored files that this process has open. */
function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      // It was the one that lists the folder.
      return []
    }
  })
}

const noFiles = (folder: string) => until('all files are closed', () => openFiles(folder).length === 0)

/** More than the system buffers for a client that does not read. */
const long = 16 * 2 ** 20

it('clients at once that read fast, slowly or leave get the bytes of their own video and part', async () => {
  await using server = await serve()
  const films = [long, long, 3_000_000, 262_144, 262_145, 1].map((bytes) => randomBytes(bytes))
  const paths = await Promise.all(films.map((film) => server.add(film)))
  const finished = Promise.withResolvers<void>()
  const client = async (number: number) => {
    const film = films[number % films.length] as Buffer
    const start = number % 4 === 0 ? 0 : Math.floor((film.length * (number % 17)) / 17)
    const response = await begin(server, paths[number % films.length] ?? '', { range: `bytes=${start}-` })
    // Enough of them for all large buffers to be taken.
    if (number % 2 === 0) await finished.promise
    const leaves = number % 3 === 0
    const bytes = await read(response, leaves ? 1_000_000 : undefined)
    if (!leaves) assert.equal(bytes.length, film.length - start, `client ${number}`)
    assert.ok(bytes.equals(film.subarray(start, start + bytes.length)), `client ${number}`)
  }
  const clients = Array.from({ length: 240 }, (_, number) => client(number))
  await Promise.all(clients.filter((_, number) => number % 2 === 1))
  finished.resolve()
  await Promise.all(clients)
  await noFiles(server.folder)
  assert.deepEqual(server.errors, [])
})

it('requests that are sent at once on one connection get their responses in order, with few files open', async () => {
  let [open, most] = [0, 0]
  await using server = await serve((object) => {
    most = Math.max(most, ++open)
    const close = object[Symbol.asyncDispose].bind(object)
    let isClosed = false
    return {
      async [Symbol.asyncDispose]() {
        if (!isClosed) open -= 1
        isClosed = true
        await close()
      },
    }
  })
  const film = randomBytes(100_000)
  const path = await server.add(film)
  const parts = Array.from({ length: 50 }, (_, number) => film.subarray(number, 90_000 + number * 10))
  const requests = parts.map(
    (part, number) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nRange: bytes=${number}-${number + part.length - 1}\r\n${number === 49 ? 'Connection: close\r\n' : ''}\r\n`,
  )
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(requests.join(''))
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  let rest = Buffer.concat(chunks)
  for (const part of parts) {
    const body = rest.subarray(rest.indexOf('\r\n\r\n') + 4)
    assert.ok(body.subarray(0, part.length).equals(part))
    rest = body.subarray(part.length)
  }
  assert.equal(rest.length, 0)
  // One closes while the next is opened.
  assert.ok(most <= 2, `${most} files were open at once`)
})

it('a client that leaves while many of its requests wait leaves no open file', async () => {
  await using server = await serve()
  const path = await server.add(randomBytes(long))
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`.repeat(30))
  await once(socket, 'data')
  assert.equal(openFiles(server.folder).length, 1)
  socket.destroy()
  await noFiles(server.folder)
  const response = await begin(server, path)
  assert.equal((await read(response)).length, long)
  assert.deepEqual(server.errors, [])
})

it('a client that sends very many requests before it reads is disconnected', async () => {
  await using server = await serve()
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  const closed = once(socket, 'close')
  socket.write(`GET ${server.path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`.repeat(400))
  await closed
  await noFiles(server.folder)
  assert.ok((await read(await begin(server, server.path))).equals(server.video))
})

it('a token that reads nothing of its downloads keeps no other one out', async () => {
  await using server = await serve(undefined, 16)
  const [film, other] = [randomBytes(long), randomBytes(long)]
  const [path, othersPath] = [await server.add(film), await server.add(other, 'you')]
  // Two fifths of the connections are for downloads, half of those for one token.
  const unread = await Promise.all(Array.from({ length: 3 }, () => begin(server, path)))
  assert.deepEqual(
    unread.map(({ statusCode }) => statusCode),
    Array(3).fill(200),
  )
  const refused = await begin(server, path)
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '5'])
  assert.match(JSON.parse(String(await read(refused))).error.message, /already has 3 downloads \(the limit is 3\)/)
  const theirs = await begin(server, othersPath, { authorization: otherAuthorization })
  assert.ok((await read(theirs)).equals(other))
  for (const response of unread) response.destroy()
  await noFiles(server.folder)
  assert.ok((await read(await begin(server, path))).equals(film))
})

it('a video that is deleted while its request waits behind another download is not sent', async () => {
  await using server = await serve()
  const paths = [await server.add(randomBytes(long)), await server.add(randomBytes(1_000))]
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`)
  socket.write(`${requests.join('\r\n')}Connection: close\r\n\r\n`)
  await once(socket, 'readable')
  // This process reads requests of one connection in turn: when another one is answered, both were read.
  await read(await begin(server, server.path))
  server.remove(paths[1] ?? '')
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const end = Buffer.concat(chunks).subarray(-2_000).toString('latin1')
  assert.match(end, /HTTP\/1\.1 404 .*"code":"video_not_found"/s)
})

it('a client that leaves while its bytes are awaited ends the read', async () => {
  let reads = 0
  const closed = Promise.withResolvers<void>()
  await using server = await serve((object) => {
    const [original, close] = [object.read.bind(object), object[Symbol.asyncDispose].bind(object)]
    return {
      async read(into) {
        if (++reads < 3) return original(into)
        await closed.promise
        throw new Error('the object was closed')
      },
      async [Symbol.asyncDispose]() {
        closed.resolve()
        await close()
      },
    }
  })
  const response = await begin(server, await server.add(randomBytes(long)))
  await once(response, 'data')
  response.destroy()
  await closed.promise
  assert.deepEqual(server.errors, [])
})

const brokenDisk = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })

it('a read error in the middle closes the connection, and the log names the video', async () => {
  let reads = 0
  await using server = await serve((object) => {
    const original = object.read.bind(object)
    return {
      async read(into) {
        if (++reads === 5) throw brokenDisk
        return original(into)
      },
    }
  })
  const path = await server.add(randomBytes(long))
  const response = await begin(server, path)
  assert.equal(response.statusCode, 200)
  await assert.rejects(read(response), /aborted/)
  assert.equal(server.errors.length, 1)
  assert.match(server.errors[0] ?? '', /a stored video could not be sent.*video_0{47}1.*EIO/)
  await noFiles(server.folder)
  assert.equal((await read(await begin(server, path))).length, long)
})

it('a read error before the first byte is an error response, without the headers of the video', async () => {
  await using server = await serve(() => ({
    async read() {
      throw brokenDisk
    },
  }))
  const response = await begin(server, server.path)
  assert.equal(response.statusCode, 503)
  assert.deepEqual(
    ['etag', 'content-disposition', 'accept-ranges'].filter((name) => name in response.headers),
    [],
  )
  assert.equal(JSON.parse(String(await read(response))).error.code, 'storage_unavailable')
  await noFiles(server.folder)
})

it('a file that becomes shorter while it is sent closes the connection', async () => {
  await using server = await serve()
  const path = await server.add(randomBytes(long))
  const response = await begin(server, path, { range: 'bytes=1-' })
  const key = `${path.split('/')[3]}/video.1.mp4`
  truncateSync(join(server.folder, server.bucket.path?.(key) ?? ''), long - 1_000)
  await assert.rejects(read(response), /aborted/)
  assert.equal(server.errors.length, 1)
  assert.match(server.errors[0] ?? '', /the last 1000 bytes are missing/)
  await noFiles(server.folder)
})
