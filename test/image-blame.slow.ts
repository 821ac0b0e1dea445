import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { blankPng } from '../src/media/png.fixture.ts'
import { drip, listen } from '../src/outbound/loopback.fixture.ts'
import { startService, until } from './service.ts'

/* An image that can't be checked because a child process died, or because of its host, is not called invalid. */

const order = { model: 'studio', prompt: 'a heron', seconds: '1', size: '256x256' }
const png = blankPng({ width: 64, height: 64 }, { depth: 8, colours: 'rgba', interlaced: false })

/** Kills every child process as soon as it runs, until this is disposed; `ended` counts them. */
function endChildren(signal: NodeJS.Signals) {
  const ended = new Set<number>()
  const timer = setInterval(() => {
    const list = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
    for (const pid of list.split(' ').filter(Boolean).map(Number)) {
      if (ended.has(pid) || !readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('/media/child.')) continue
      ended.add(pid)
      process.kill(pid, signal)
    }
  }, 1)
  return { ended, [Symbol.dispose]: () => clearInterval(timer) }
}

it('a submit whose image could not be checked gets 503 with Retry-After, and succeeds when it is repeated', async () => {
  await using service = await startService()
  const image = png.toString('base64')
  for (const [signal, message] of [
    ['SIGKILL', /too busy/],
    ['SIGABRT', /could not be checked/],
  ] as const) {
    using _killer = endChildren(signal)
    const response = await service.submit({ ...order, image })
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    assert.deepEqual([response.status, error.code], [503, 'overloaded'])
    assert.match(error.message, message)
    assert.ok(Number(response.headers.get('retry-after')) > 0)
  }
  assert.equal((await service.submit({ ...order, image })).status, 200)
})

it('a task whose image is fetched waits while the machine kills children, and goes on when that is over', async () => {
  await using host = await serveImage()
  await using service = await startService({ yaml: JSON.stringify({ outbound: { allow: ['127.0.0.1'] } }) })
  const { id } = await (async () => {
    using killer = endChildren('SIGKILL')
    const task = (await (await service.submit({ ...order, image: host.url })).json()) as { id: string }
    // Each try has two children.
    await until('two tries failed', () => killer.ended.size >= 4)
    return task
  })()
  assert.equal((await service.finish(id)).status, 'completed')
})

it('a task whose image ends its child each time fails, and says that the image could not be checked', async () => {
  await using host = await serveImage()
  await using service = await startService({ yaml: JSON.stringify({ outbound: { allow: ['127.0.0.1'] } }) })
  using _killer = endChildren('SIGSEGV')
  const { id } = (await (await service.submit({ ...order, image: host.url })).json()) as { id: string }
  const { status, error } = await service.finish(id)
  assert.equal(status, 'failed')
  assert.deepEqual(error, {
    code: 'image_unavailable',
    message: 'The image could not be checked. Try again, or send another image.',
  })
})

for (const [title, hints] of [
  ['one at a time', 1],
  ['many at once', 5_000],
] as const)
  it(`a task whose image host sends interim responses without end, ${title}, fails and says so`, async () => {
    const response = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(hints)
    await using host = await listen((_path, socket) => drip(socket, response))
    await using service = await startService({ yaml: JSON.stringify({ outbound: { allow: ['127.0.0.1'] } }) })
    const { id } = (await (await service.submit({ ...order, image: host.origin })).json()) as { id: string }
    const { status, error } = await service.finish(id)
    assert.equal(status, 'failed')
    assert.deepEqual(error, {
      code: 'image_unavailable',
      message:
        'The image URL returned too many interim responses (1xx). Use a URL that returns the image itself to anyone.',
    })
    assert.equal(host.connections, 1)
  })

it('a task whose image host does not answer fails at its own deadline', async () => {
  await using host = await listen(() => undefined)
  await using service = await startService({ yaml: JSON.stringify({ outbound: { allow: ['127.0.0.1'] } }) })
  const submitted = await service.submit({ ...order, image: host.origin, finish_within: 1 })
  const { id } = (await submitted.json()) as { id: string }
  const { error } = await service.finish(id)
  assert.deepEqual(error, {
    code: 'deadline_exceeded',
    message: 'The image could not be fetched before the deadline of the video. Use a faster server, or upload it.',
  })
  assert.equal(host.connections, 1)
})

async function serveImage(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => response.end(png))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/heron.png`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
