import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { it } from 'node:test'
import type { Page } from '../src/stores/store.ts'
import { openStage, type Stage } from './listening.ts'
import { until } from './service.ts'

/* Lists with prompts of the greatest length are built piece by piece, and tokens take turns. */

const longest = '\u0001'.repeat(32_000)
const prompts = [longest, '狐'.repeat(32_000), 'a fox', '🦊'.repeat(32_000)]

type Error = { error: { code: string; message: string } }
type List = { data: { id: string }[]; has_more: boolean }

async function fill(stage: Stage, count: number, promptOf: (at: number) => string, owner = 'alice'): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at += 1) {
    const number = `${owner === 'alice' ? 1 : 2}${String(at).padStart(3, '0')}`
    const { id } = await stage.queued(number, { prompt: promptOf(at), owner })
    ids.push(id)
  }
  return ids
}

/** How large the chunks of a response are on the wire. */
async function readChunks(stage: Stage, path: string): Promise<number[]> {
  const { hostname, port } = new URL(stage.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: close\r\n\r\n`)
  const text = (await buffer(socket)).toString('latin1')
  const sizes: number[] = []
  for (let at = text.indexOf('\r\n\r\n') + 4; at < text.length; ) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    sizes.push(size)
    at = end + 2 + size + 2
  }
  return sizes
}

it('a page of long prompts has the same JSON as a short one, whatever its limit, order and filter', async () => {
  await using stage = await openStage()
  const ids = await fill(stage, 14, (at) => prompts[at % prompts.length] ?? '')
  const videos = new Map<string, unknown>()
  for (const id of ids) videos.set(id, await (await stage.fetch(`/v1/videos/${id}`)).json())
  const expected = (shown: string[], has_more: boolean) =>
    JSON.stringify({
      ...{ object: 'list', data: shown.map((id) => videos.get(id)) },
      ...{ first_id: shown[0] ?? null, last_id: shown.at(-1) ?? null, has_more },
    })
  for (const filter of ['', '&model=studio', '&status=queued'])
    for (const order of ['asc', 'desc']) {
      const ordered = order === 'asc' ? ids : ids.toReversed()
      for (const limit of [0, 1, 2, 4, 13, 14]) {
        const answer = await stage.fetch(`/v1/videos?limit=${limit}&order=${order}${filter}`)
        assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
        assert.equal(await answer.text(), expected(ordered.slice(0, limit), limit < 14), `${order} ${limit} ${filter}`)
      }
      const rest = await stage.fetch(`/v1/videos?order=${order}&after=${ordered[3]}${filter}`)
      assert.equal(await rest.text(), expected(ordered.slice(4), false))
    }
  const head = await stage.fetch('/v1/videos', { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
})

it('a large page is read and sent in pieces', async () => {
  let most = 0
  await using stage = await openStage((store) => ({
    async list(owner, page) {
      const views = await store.list(owner, page)
      most = Math.max(most, views.map(({ prompt }) => prompt).join('').length)
      return views
    },
  }))
  await fill(stage, 40, () => longest)
  for (const path of ['/v1/videos?limit=100', '/v1/videos?limit=100&model=studio']) {
    const sizes = await readChunks(stage, path)
    assert.ok(sizes.reduce((sum, size) => sum + size) > 40 * 6 * 32_000)
    assert.ok(Math.max(...sizes) < 600_000, `a piece of ${Math.max(...sizes)} bytes`)
    assert.ok(most < 100_000, `${most} characters read at once`)
  }
})

it('large lists of one token take turns with a list of another', async () => {
  const calls: string[] = []
  await using stage = await openStage((store) => ({
    list(owner, page) {
      calls.push(owner)
      return store.list(owner, page)
    },
  }))
  await fill(stage, 40, () => longest)
  await fill(stage, 10, () => longest, 'bob')
  const many = Array.from({ length: 8 }, async () => (await stage.fetch('/v1/videos?limit=100')).arrayBuffer())
  await until('lists are under way', () => calls.length > 8, 1)
  await (await stage.fetch('/v1/videos?limit=100', { token: 'bob' })).arrayBuffer()
  const own = calls.slice(calls.indexOf('bob'), calls.lastIndexOf('bob'))
  const others = own.filter((owner) => owner === 'alice').length
  assert.ok(others <= 20, `${others} steps of the other token within 10 of its own`)
  await Promise.all(many)
})

it('a token has 32 large lists at once, and gives back those whose client has gone', async () => {
  let waiting = 0
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  await using stage = await openStage((store) => ({
    async list(owner: string, page: Page) {
      waiting += 1
      await gate.promise
      return store.list(owner, page)
    },
  }))
  await fill(stage, 100, () => longest)
  await fill(stage, 40, () => longest, 'bob')
  const headers = { authorization: 'Bearer alice' }
  const ask = () => request(`${stage.url}/v1/videos?limit=100`, { headers, agent: false }).on('error', () => {})
  const open = async () => {
    const asked = ask().end()
    const [answer] = await once(asked, 'response')
    assert.equal(answer.statusCode, 200)
    return asked
  }
  const stuck = await Promise.all(Array.from({ length: 32 }, open))
  const refused = await stage.fetch('/v1/videos?limit=100')
  assert.equal(refused.status, 429)
  const { error } = (await refused.json()) as Error
  assert.equal(error.code, 'rate_limit_exceeded')
  assert.match(error.message, /^This token already has 32 filtered or large lists \(/)
  assert.equal((await stage.fetch('/v1/videos?limit=1')).status, 200)
  const other = (await (await stage.fetch('/v1/videos?limit=100', { token: 'bob' })).json()) as List
  assert.equal(other.data.length, 40)
  for (const each of stuck) each.destroy()
  const isServed = async () => {
    const answer = await stage.fetch('/v1/videos?limit=100')
    await answer.arrayBuffer()
    return answer.status === 200
  }
  await until('their places are given back', isServed, 5)
  gate = Promise.withResolvers()
  waiting = 0
  const early = Array.from({ length: 32 }, () => ask().end())
  await until('all are being read', () => waiting === 32, 5)
  for (const each of early) each.destroy()
  assert.equal((await stage.fetch('/v1/models')).status, 200)
  gate.resolve()
  await until('a list is served after those', isServed, 5)
})
