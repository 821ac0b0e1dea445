import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket, TcpNetConnectOpts } from 'node:net'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { Problem } from '../core/problem.ts'
import { type Deadlines, openOutbound } from '../outbound.ts'
import { dialLoopback as dial, drip, listen, reply } from './loopback.fixture.ts'

const never = new AbortController().signal
const limits = { maxBytes: 1000 }
const late = { name: 'Problem', code: 'image_unavailable', retryable: true, message: /did not respond in time/ }

function open(deadlines: Partial<Deadlines> = {}) {
  return openOutbound({ dial, allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'], deadlines })
}

test('a resolver that hangs ends at the deadline of the connection', async () => {
  await using _keepsTheLoopAlive = await listen(() => '')
  const resolve = () => new Promise<string[]>(() => {})
  await using outbound = openOutbound({ dial, allow: [], resolve, deadlines: { connectMs: 20 } })
  await assert.rejects(outbound.of('alice').download('http://name.test/', limits, never), late)
})

test('a TLS handshake that hangs ends at the deadline of the connection', async () => {
  await using server = await listen(() => undefined)
  await using outbound = open({ connectMs: 50 })
  await assert.rejects(outbound.of('alice').download(`https://127.0.0.1:${server.port}/`, limits, never), late)
  assert.equal(server.connections, 1)
})

test('a server that accepts the request and does not respond ends at the deadline of the headers', async () => {
  await using server = await listen(() => undefined)
  await using outbound = open({ headersMs: 20 })
  await assert.rejects(outbound.of('alice').download(server.origin, limits, never), late)
})

test('a body that stops ends at the deadline of the body', async () => {
  await using server = await listen((_path, socket) => {
    socket.write(reply(200, { 'content-length': 100 }, 'x'))
    return undefined
  })
  await using outbound = open({ bodyIdleMs: 20 })
  await assert.rejects(outbound.of('alice').download(server.origin, limits, never), late)
})

test('a body that comes too slowly ends before the total deadline', async () => {
  await using server = await listen((_path, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    return drip(socket, 'x')
  })
  await using outbound = open({ bodyPaceMs: 40, bodyPaceBytes: 1e9 })
  await assert.rejects(outbound.of('alice').download(server.origin, { maxBytes: 1e9 }, never), (problem: Problem) => {
    assert.deepEqual([problem.code, problem.retryable], ['image_unavailable', true])
    assert.match(problem.message, late.message)
    return String(problem.cause).includes('the body arrived too slowly')
  })
})

test('a body that drips for ever ends at the total deadline', async () => {
  await using server = await listen((_path, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    return drip(socket, 'x')
  })
  await using outbound = open({ totalMs: 50 })
  await assert.rejects(outbound.of('alice').download(server.origin, { maxBytes: 1e9 }, never), late)
})

test('the total deadline covers all redirects together', async () => {
  await using server = await listen((path) => (path === '/' ? reply(302, { location: '/hang' }) : undefined))
  // Long enough for the redirect itself, also on a busy machine.
  await using outbound = open({ totalMs: 1_500 })
  await assert.rejects(outbound.of('alice').download(server.origin, limits, never), late)
  assert.equal(server.heads.length, 2)
})

for (const part of ['headers', 'body']) {
  test(`the signal of the caller ends a download that waits for its ${part}, and closes the connection`, async () => {
    const stop = new AbortController()
    const closed = Promise.withResolvers<void>()
    await using server = await listen((_path, socket) => {
      socket.once('close', () => closed.resolve())
      if (part === 'body') socket.write(reply(200, { 'content-length': 100 }, 'x'))
      setImmediate(() => stop.abort('enough'))
      return undefined
    })
    await using outbound = open()
    await assert.rejects(
      outbound.of('alice').download(server.origin, limits, stop.signal),
      (thrown) => thrown === 'enough',
    )
    await closed.promise
  })
}

test('no connection is opened after the signal of the caller has aborted', async () => {
  const connectTo = () => assert.fail('it was dialled')
  await using outbound = openOutbound({ dial: connectTo, allow: ['127.0.0.1'] })
  const download = outbound.of('alice').download('http://127.0.0.1/', limits, AbortSignal.abort('enough'))
  await assert.rejects(download, (thrown) => thrown === 'enough')
})

test('closing ends running downloads as retryable failures, and leaves no connection open', async () => {
  const asked = Promise.withResolvers<void>()
  await using server = await listen(() => asked.resolve() as undefined)
  const sockets: Socket[] = []
  const watched = (options: TcpNetConnectOpts) => {
    const socket = dial(options)
    sockets.push(socket)
    return socket
  }
  const outbound = openOutbound({ dial: watched, allow: ['127.0.0.1'] })
  const forNow = { code: 'image_unavailable', retryable: true }
  const download = assert.rejects(outbound.of('alice').download(server.origin, limits, never), forNow)
  await asked.promise
  await outbound[Symbol.asyncDispose]()
  assert.equal(sockets[0]?.closed, true)
  await download
  await assert.rejects(outbound.of('alice').download(server.origin, limits, never), forNow)
  assert.equal(sockets.length, 1)
})

test('a response that arrived in time is read, even if the process was paused until after the deadline', async () => {
  const state = new SharedArrayBuffer(8)
  const [asked, answered] = [new Int32Array(state, 0, 1), new Int32Array(state, 4, 1)]
  const code = `const { workerData, parentPort } = require('node:worker_threads')
    const [asked, answered] = [new Int32Array(workerData, 0, 1), new Int32Array(workerData, 4, 1)]
    const server = require('node:net').createServer((socket) => socket.on('error', () => {}).once('data', () => {
      Atomics.store(asked, 0, 1)
      const body = JSON.stringify({ id: 'paid for' })
      const head = 'HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: ' + body.length
      socket.write(head + '\\r\\n\\r\\n' + body, () => { Atomics.store(answered, 0, 1); Atomics.notify(answered, 0) })
    }))
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`
  await using server = new Worker(code, { eval: true, workerData: state })
  const [port] = await once(server, 'message')
  await using outbound = openOutbound({ allow: [], upstreamDeadlines: { headersMs: 100 } })
  const sent = outbound.upstream(`http://127.0.0.1:${port}`).send('/jobs', { method: 'POST', body: '{}' }, never)
  while (Atomics.load(asked, 0) === 0) await new Promise((resolve) => setImmediate(resolve))
  Atomics.wait(answered, 0, 0)
  // Like a pause: this process runs nothing for longer than the deadline.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  assert.deepEqual(await (await sent).json(), { id: 'paid for' })
})
