import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { openOutbound, type UpstreamRequest } from '../outbound.ts'
import { dialLoopback as dial, listen, reply } from './loopback.fixture.ts'

const never = new AbortController().signal
const job: UpstreamRequest = { method: 'POST', body: '{}' }
const unreachable = { name: 'Problem', code: 'provider_unreachable', retryable: true }
const outboundOf = () => openOutbound({ dial, allow: [], resolve: async () => ['127.0.0.1'] })

test('the connection is open, and no byte has left, before the caller says that it may', async () => {
  await using server = await listen(() => reply(200, {}, 'made'))
  await using outbound = outboundOf()
  const upstream = outbound.upstream(server.origin)
  const seen: string[] = []
  const look = (name: string) =>
    seen.push(`${name}: ${server.connections} connections, ${server.heads.length} requests`)
  const departure = {
    async ready() {
      // What had left before would be there by the time that another request is answered.
      await upstream.fetch('/other', { method: 'GET' }, never)
      look('ready')
    },
    leave: () => look('leave'),
  }
  const answer = await upstream.send('/', job, never, departure)
  assert.equal(await answer.text(), 'made')
  assert.deepEqual(seen, ['ready: 2 connections, 1 requests', 'leave: 2 connections, 1 requests'])
  assert.equal(server.heads.length, 2)
})

test('nothing leaves where the caller says that it may not', async () => {
  await using server = await listen(() => reply(200))
  await using outbound = outboundOf()
  const departure = { ready: () => Promise.reject(new Error('no commit')), leave: () => assert.fail('it left') }
  await assert.rejects(outbound.upstream(server.origin).send('/', job, never, departure), unreachable)
  assert.deepEqual(server.heads, [])
})

test('nothing leaves where the caller can not note that it does', async () => {
  await using server = await listen(() => reply(200))
  await using outbound = outboundOf()
  const leave = () => {
    throw new Error('no disk')
  }
  const sent = outbound.upstream(server.origin).send('/', job, never, { ready: async () => {}, leave })
  await assert.rejects(sent, unreachable)
  assert.deepEqual(server.heads, [])
})

test('nothing leaves where the request was given up meanwhile', async () => {
  await using server = await listen(() => reply(200))
  await using outbound = outboundOf()
  const stop = new AbortController()
  const departure = { ready: async () => stop.abort(), leave: () => assert.fail('it left') }
  await assert.rejects(outbound.upstream(server.origin).send('/', job, stop.signal, departure), unreachable)
  assert.deepEqual(server.heads, [])
})

for (const how of ['end', 'resetAndDestroy'] as const)
  test(`a peer that closes (${how}) before the first byte has got nothing`, async () => {
    const accepted = Promise.withResolvers<Socket>()
    const server = createServer((socket) => accepted.resolve(socket.on('error', () => {})))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const sockets: Socket[] = []
    const outbound = openOutbound({
      allow: [],
      dial: (options) => {
        const socket = dial(options)
        sockets.push(socket)
        return socket
      },
    })
    const open: (boolean | undefined)[] = []
    const departure = {
      async ready(isOpen?: () => boolean) {
        const peer = await accepted.promise
        const closed = new Promise((resolve) => sockets[0]?.once('close', resolve))
        open.push(isOpen?.())
        peer[how]()
        await closed
        open.push(isOpen?.())
      },
      leave: () => assert.fail('it left'),
    }
    const sent = outbound.upstream(`http://127.0.0.1:${port}`).send('/', job, never, departure)
    await assert.rejects(sent, unreachable)
    assert.deepEqual(open, [true, false])
    await outbound[Symbol.asyncDispose]()
    server.close()
  })
