import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { described } from '../src/media/boxes.fixture.ts'
import { spawnServer } from './process.ts'
import { startService, until } from './service.ts'
import { startReceiver } from './webhook-world.ts'

/* Resources that tokens share: one token uses all that it can get, and the other is still served. */

const yaml = `
tokens:
  - { name: greedy, secret: greedy-secret, models: ["*"] }
  - { name: other, secret: other-secret, models: ["*"] }
outbound: { allow: [127.0.0.1] }
`
const greedy = { authorization: 'Bearer greedy-secret' }
const other = { authorization: 'Bearer other-secret' }
const json = { 'content-type': 'application/json' }
const film = { model: 'studio', prompt: 'a fox', seconds: '1', size: '256x256' }

type Answer = { error: { code: string; message: string } }

it('tests of webhook endpoints: four of a token at once, and the next is 429', async () => {
  await using receiver = await startReceiver()
  await using service = await startService({ yaml, env: { FILMGATE_TOKEN: '' } })
  const release = Promise.withResolvers<void>()
  receiver.handle = async ({ path }, response) => {
    if (path === '/slow') await release.promise
    response.end('ok')
  }
  const post = (path: string, headers: object, body: object) =>
    service.fetch(path, { method: 'POST', headers: { ...headers, ...json }, body: JSON.stringify(body) })
  const endpoint = async (headers: object, path: string) => {
    const body = { name: 'x', url: `${receiver.url}${path}`, event_types: ['video.completed'] }
    return ((await (await post('/v1/webhook_endpoints', headers, body)).json()) as { id: string }).id
  }
  const [slow, quick] = [await endpoint(greedy, '/slow'), await endpoint(other, '/quick')]
  const test = (id: string, headers: object) =>
    post(`/v1/webhook_endpoints/${id}/test`, headers, { event_type: 'video.completed' })
  const hanging = Array.from({ length: 4 }, () => test(slow, greedy))
  await until('all four are under way', () => receiver.all.length === 4)
  const refused = await test(slow, greedy)
  const { error } = (await refused.json()) as Answer
  assert.deepEqual([refused.status, error.code, refused.headers.get('retry-after')], [429, 'rate_limit_exceeded', '5'])
  assert.match(error.message, /^This token already has 4 tests of webhook endpoints running \(/)
  assert.equal((await test(quick, other)).status, 200)
  release.resolve()
  for (const each of await Promise.all(hanging)) assert.equal(each.status, 200)
  assert.equal((await test(slow, greedy)).status, 200)
})

/** A service that may have 128 files open. */
function serveWithFewFiles(test: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-shares-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const under = ['sh', '-c', 'ulimit -n 128 && exec "$@"', 'sh']
  const config = join(folder, 'filmgate.yaml')
  writeFileSync(config, yaml)
  const args = ['--data', join(folder, 'data')]
  return spawnServer({ args, env: { FILMGATE_CONFIG: config }, under })
}

it('streams: a token that opens as many as it can leaves connections for another', async (test) => {
  await using server = serveWithFewFiles(test)
  const url = await server.url
  const leave = new AbortController()
  test.after(() => leave.abort())
  const stream = (headers: object) =>
    fetch(`${url}/v1/videos/events`, { headers: { ...headers }, signal: leave.signal })
  const statuses: number[] = []
  while (statuses.filter((status) => status !== 200).length < 20) {
    const answer = await stream(greedy)
    statuses.push(answer.status)
    if (answer.status !== 200)
      assert.match(
        ((await answer.json()) as Answer).error.message,
        /^This token already has \d+ streams and waiting requests/,
      )
  }
  assert.equal(statuses[0], 200)
  assert.deepEqual(new Set(statuses.slice(-20)), new Set([429]))
  for (let turn = 0; turn < 5; turn += 1) {
    assert.equal((await stream(other)).status, 200)
    assert.equal((await fetch(`${url}/v1/videos`, { headers: other })).status, 200)
  }
})

it('bodies that never end: a token that begins as many as it can leaves connections for another', async (test) => {
  await using server = serveWithFewFiles(test)
  const url = await server.url
  const answers: string[] = []
  const sockets: Socket[] = []
  test.after(() => sockets.forEach((socket) => void socket.destroy()))
  const begin = (path: string) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    socket.on('data', (bytes) => answers.push(bytes.toString()))
    const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: ${greedy.authorization}`]
    socket.write(`${[...head, 'Content-Type: application/json', 'Content-Length: 99'].join('\r\n')}\r\n\r\n{`)
  }
  for (let count = 0; count < 60; count += 1) begin(['/v1/videos', '/v1/webhook_endpoints'][count % 2] ?? '')
  await until('some are refused', () => answers.length >= 30)
  // This many at once may also exceed the limit of connections.
  const isCrowded = (answer: string) => /^HTTP\/1\.1 503 [\s\S]*"Too many clients are connected/.test(answer)
  for (const answer of answers) {
    assert.match(answer, /connection: close/i)
    if (isCrowded(answer)) continue
    assert.match(answer, /^HTTP\/1\.1 429 [\s\S]*"code":"rate_limit_exceeded"/i)
    assert.match(answer, /"This token already has \d+ unfinished request bodies \(/)
  }
  assert.ok(!answers.every(isCrowded))
  const body = JSON.stringify(film)
  for (let turn = 0; turn < 5; turn += 1) {
    assert.equal((await fetch(`${url}/v1/videos`, { headers: other })).status, 200)
    const made = await fetch(`${url}/v1/videos`, { method: 'POST', headers: { ...other, ...json }, body })
    assert.equal(made.status, 200)
  }
  for (const socket of sockets) socket.destroy()
  // Refused or answered before their bodies ended: they are over when their connections are closed.
  for (let count = 0; count < 60; count += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    const head = ['GET /v1/models HTTP/1.1', 'Host: x', `Authorization: ${greedy.authorization}`, 'Content-Length: 99']
    socket.write(`${head.join('\r\n')}\r\n\r\n{`)
    await once(socket, 'data')
    socket.destroy()
  }
  const again = () => fetch(`${url}/v1/videos`, { method: 'POST', headers: { ...greedy, ...json }, body })
  await until('the share is given back', async () => (await again()).status === 200)
  assert.doesNotMatch(server.output.stderr, /request failed/)
})

it('uploads: a token that sends very many waits in its own line, and the other is next', async () => {
  await using service = await startService({ yaml, env: { FILMGATE_TOKEN: '' } })
  const submitted = await service.submit(film, greedy)
  const { id } = (await submitted.json()) as { id: string }
  const state = async () => (await (await service.fetch(`/v1/videos/${id}`, { headers: greedy })).json()) as object
  await until('it is completed', async () => 'completed_at' in (await state()))
  const content = await service.fetch(`/v1/videos/${id}/content`, { headers: greedy })
  const video = new Uint8Array(await content.arrayBuffer())
  const ended: string[] = []
  const send = async (name: string, headers: Record<string, string>, bytes: Uint8Array<ArrayBuffer>) => {
    const form = new FormData()
    form.append('prompt', 'x')
    form.append('model', 'studio')
    form.append('video', new File([bytes], 'film.mp4', { type: 'video/mp4' }))
    const answer = await service.fetch('/v1/videos/edits', { method: 'POST', headers, body: form })
    ended.push(name)
    return { status: answer.status, error: ((await answer.json()) as Partial<Answer>).error }
  }
  /** How many of the crowd came first. On a busy machine the crowd may be done before the other has sent anything. */
  const race = async () => {
    ended.length = 0
    const many = Array.from({ length: 7 }, () => send('greedy', greedy, video))
    const one = await send('other', other, video)
    const before = ended.indexOf('other')
    for (const each of [one, ...(await Promise.all(many))]) assert.equal(each.status, 200, JSON.stringify(each))
    return before
  }
  let before = 7
  for (let races = 0; races < 10 && before >= 5; races += 1) before = await race()
  assert.ok(before < 5, `${before} of the crowd came first`)
  const large = described({ size: { width: 8192, height: 8192 } })
  const refused = await send('greedy', greedy, new Uint8Array(large))
  assert.deepEqual([refused.status, refused.error?.code], [400, 'invalid_value'])
  assert.match(refused.error?.message ?? '', /It has 8192x8192 pixels: up to 1920 a side/)
})
