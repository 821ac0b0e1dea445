import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { type OutboundOptions, openOutbound } from '../outbound.ts'
import { type Answer, certificateFor, dialLoopback as dial, listen, reply, watching } from './loopback.fixture.ts'

const never = new AbortController().signal

/** A provider whose polls are answered by `answer`, and what a poll of it returns. */
async function openWorld(answer: Answer, options: Partial<OutboundOptions> = {}) {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await listen(answer))
  const outbound = stack.use(openOutbound({ dial, allow: [], resolve: async () => ['127.0.0.1'], ...options }))
  const upstream = outbound.upstream(server.origin)
  const poll = async (path: string) => (await upstream.fetch(path, { method: 'GET' }, never)).text()
  const resources = stack.move()
  return { server, upstream, poll, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

const keep: Answer = (path, socket) => void socket.write(reply(200, {}, path))

test('polls use a connection again, one after another, and a submit has its own', async () => {
  await using world = await openWorld(keep)
  for (const path of ['/a', '/b', '/c']) assert.equal(await world.poll(path), path)
  assert.equal(world.server.connections, 1)
  await world.upstream.send('/', { method: 'POST', body: '{}' }, never)
  assert.equal(world.server.connections, 2)
})

test('a connection with TLS is used again, also after a compressed response', async () => {
  const tls = certificateFor('provider.test')
  setDefaultCACertificates([...getCACertificates('default'), tls.cert])
  const body = gzipSync('abc')
  const head = reply(200, { 'content-encoding': 'gzip', 'content-length': body.length })
  const packed: Answer = (_path, socket) => void socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
  await using server = await listen(packed, { tls })
  await using outbound = openOutbound({ dial, allow: [], resolve: async () => ['127.0.0.1'] })
  const upstream = outbound.upstream(`https://provider.test:${server.port}`)
  for (let polls = 0; polls < 3; polls += 1)
    assert.equal(await (await upstream.fetch('/', { method: 'GET' }, never)).text(), 'abc')
  assert.equal(server.connections, 1)
})

test('few connections are kept, of all providers together', async () => {
  const dialled: Socket[] = []
  await using server = await listen(keep)
  await using outbound = openOutbound({ dial: watching(dialled), allow: [], resolve: async () => ['127.0.0.1'] })
  const upstreams = [outbound.upstream(server.origin), outbound.upstream(server.origin)]
  const polls = upstreams.flatMap((upstream) =>
    Array.from({ length: 100 }, () => upstream.fetch('/', { method: 'GET' }, never)),
  )
  await Promise.all(polls)
  assert.equal(dialled.length, 200)
  assert.equal(dialled.filter(({ destroyed }) => !destroyed).length, 64)
})

test('polls at once have a connection each, and get their own responses', async () => {
  await using world = await openWorld(keep)
  const paths = Array.from({ length: 200 }, (_, at) => `/${at}`)
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await Promise.all(paths.map(world.poll)), paths)
})

test('a connection that the provider closes is not used again', async () => {
  for (const headers of [{}, { connection: 'close' }]) {
    await using world = await openWorld((path) => reply(200, headers, path))
    for (const path of ['/a', '/b']) assert.equal(await world.poll(path), path)
    assert.equal(world.server.connections, 2)
  }
})

test('a poll on a connection that turns out to be closed is sent on a new one', async () => {
  const seen = new Set<Socket>()
  await using world = await openWorld((path, socket) => {
    if (seen.has(socket)) return void socket.resetAndDestroy()
    seen.add(socket)
    return keep(path, socket)
  })
  for (const path of ['/a', '/b', '/c']) assert.equal(await world.poll(path), path)
  assert.equal(world.server.connections, 3)
})

test('a response that breaks off on a connection that was kept is a failure', async () => {
  let polls = 0
  await using world = await openWorld((path, socket) => {
    polls += 1
    return polls === 1 ? keep(path, socket) : reply(200, { 'content-length': 9 }, 'half')
  })
  await world.poll('/a')
  await assert.rejects(world.poll('/b'), { code: 'provider_unavailable', retryable: true })
  assert.deepEqual([polls, world.server.connections], [2, 1])
})

test('bytes that arrive between two polls are not the response to the next one', async () => {
  let last: Socket | undefined
  const dialled: Socket[] = []
  const answer: Answer = (path, socket) => {
    last = socket
    return keep(path, socket)
  }
  await using world = await openWorld(answer, { dial: watching(dialled) })
  assert.equal(await world.poll('/a'), '/a')
  const closed = once(dialled[0] as Socket, 'close')
  last?.write(reply(200, {}, 'unrequested'))
  await closed
  assert.equal(await world.poll('/b'), '/b')
  assert.equal(world.server.connections, 2)
})

test('closing the outbound closes the connections that it keeps', async () => {
  const dialled: Socket[] = []
  {
    await using world = await openWorld(keep, { dial: watching(dialled) })
    await world.poll('/a')
    assert.deepEqual(
      dialled.map(({ destroyed }) => destroyed),
      [false],
    )
  }
  assert.deepEqual(
    dialled.map(({ destroyed }) => destroyed),
    [true],
  )
})
