import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { it } from 'node:test'
import { openRandom } from '../main/random.ts'
import { openTelemetry } from '../telemetry/log.ts'
import { openPieceTurns } from './pieces.ts'
import { openServer } from './server.ts'

/* With a real limit of open files: test/few-files.slow.ts. */

const most = 8

/** A service with a route that responds, one that never does, and health checks. Its clock stands still. */
async function serve() {
  const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) }
  let now = 0
  const lines: string[] = []
  const { log } = openTelemetry({ write: (line) => lines.push(line), now: () => now, secrets: [] })
  const app = openServer({ log, clock, random: openRandom(), turns: openPieceTurns(), connections: { most, clock } })
  let hanging = 0
  app.get('/quick', async () => 'here')
  app.get('/livez', async () => 'alive')
  app.get('/slow', () => {
    hanging += 1
    return new Promise(() => {})
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const sockets: Socket[] = []
  return {
    lines,
    async join(): Promise<Socket> {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      sockets.push(socket)
      const before = await count()
      while ((await count()) === before) await new Promise(setImmediate)
      return socket
    },
    ask(socket: Socket, path: string): Promise<string> {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      return new Promise((resolve) => socket.once('data', (bytes) => resolve(bytes.toString())))
    },
    async hang(socket: Socket): Promise<void> {
      const before = hanging
      socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
      while (hanging === before) await new Promise(setImmediate)
    },
    pass(ms: number) {
      now += ms
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await app.close()
    },
  }
  function count(): Promise<number> {
    return new Promise((resolve, reject) => {
      app.server.getConnections((error, found) => (error ? reject(error) : resolve(found)))
    })
  }
}

type Served = Awaited<ReturnType<typeof serve>>

/** Opens connections until only the spare ones are left. */
async function fill({ join, hang }: Served): Promise<void> {
  for (let at = 0; at < most - 2; at += 1) await hang(await join())
}

it('with few connections they stay open, with many each response closes its own', async () => {
  await using served = await serve()
  assert.doesNotMatch(await served.ask(await served.join(), '/quick'), /connection: close/i)
  for (let at = 0; at < 4; at += 1) await served.hang(await served.join())
  assert.match(await served.ask(await served.join(), '/quick'), /^HTTP\/1\.1 200 [\s\S]*connection: close/i)
})

it('at the limit a request gets `overloaded`, and health checks still work', async () => {
  await using served = await serve()
  await fill(served)
  const refused = await served.ask(await served.join(), '/quick')
  assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*retry-after: 5[\s\S]*"code":"overloaded"/i)
  assert.match(await served.ask(await served.join(), '/livez'), /^HTTP\/1\.1 200 /)
})

it('refusals are logged once, and again after a minute without any', async () => {
  await using served = await serve()
  await fill(served)
  const refuse = async () => assert.match(await served.ask(await served.join(), '/quick'), /^HTTP\/1\.1 503 /)
  await refuse()
  await refuse()
  assert.equal(served.lines.length, 1)
  assert.match(served.lines[0] ?? '', /"level":"warn".*Too many clients are connected/)
  served.pass(60_000)
  await refuse()
  assert.equal(served.lines.length, 2)
})

it('an idle connection is closed for a new one', async () => {
  await using served = await serve()
  const idle = await served.join()
  assert.match(await served.ask(idle, '/quick'), /^HTTP\/1\.1 200 /)
  for (let at = 0; at < most - 3; at += 1) await served.hang(await served.join())
  const closed = new Promise((resolve) => idle.once('close', resolve))
  const next = connect((idle.remotePort as number) ?? 0, '127.0.0.1').on('error', () => {})
  await closed
  assert.match(await served.ask(next, '/quick'), /^HTTP\/1\.1 200 /)
  next.destroy()
})

it('a connection without a request is closed for a new one, but not at once', async () => {
  await using served = await serve()
  const silent = await served.join()
  for (let at = 0; at < most - 3; at += 1) await served.hang(await served.join())
  assert.match(await served.ask(await served.join(), '/quick'), /^HTTP\/1\.1 503 /)
  served.pass(500)
  const closed = new Promise((resolve) => silent.once('close', resolve))
  assert.match(await served.ask(await served.join(), '/quick'), /^HTTP\/1\.1 200 /)
  await closed
})
