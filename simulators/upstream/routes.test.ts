import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startUpstream, submitFaults } from '../upstream.ts'
import { viewOf } from './jobs.ts'
import { markOf, withoutMark } from './marks.ts'
import { tinyFilm } from './tiny-film.ts'
import { exchange, pictureOf, requestOf } from './wire.fixture.ts'

/* The upstream without faults, and how faults are ordered. */

interface Reply {
  status: number
  value: { id?: string; error?: string; status?: string; url?: string; jobs?: Record<string, unknown>[] }
}

async function ask(url: string, method: string, path: string, body?: object, headers = {}): Promise<Reply> {
  const all = { authorization: 'Bearer key-1', ...headers }
  const response = await fetch(`${url}${path}`, { method, headers: all, ...(body && { body: JSON.stringify(body) }) })
  return { status: response.status, value: (await response.json()) as Reply['value'] }
}
const fox = { model: 'm', prompt: 'a fox', seconds: 1, size: '64x36', reference: 'ref-1' }

it('a job waits, then runs, then is done', () => {
  const aged = (ms: number) => {
    const job = { id: 'job_1', body: fox, acceptedAt: Date.now() - ms, end: null, unknownUntil: 0 }
    const { status, progress } = viewOf(job, 1_000_000)
    return [status, progress]
  }
  assert.deepEqual(aged(100_000), ['waiting', 0])
  assert.deepEqual(aged(602_000), ['running', 50])
  assert.deepEqual(aged(1_000_000), ['done', 100])
})

it('the film of a finished job can be downloaded whole or in part, without a key', async () => {
  await using upstream = await startUpstream({ speed: 60_000 })
  const { id } = (await ask(upstream.url, 'POST', '/jobs', fox)).value
  const poll = async () => (await ask(upstream.url, 'GET', `/jobs/${id}`)).value
  assert.deepEqual(await poll(), { id, status: 'waiting', progress: 0 })
  assert.equal((await fetch(`${upstream.url}/files/${id}.mp4`)).status, 404)
  upstream.setFaults({ speed: 0 })
  const url = `${upstream.url}/files/${id}.mp4`
  assert.deepEqual(await poll(), { id, status: 'done', progress: 100, url })
  const whole = await fetch(url)
  const film = Buffer.from(await whole.arrayBuffer())
  assert.deepEqual(withoutMark(film), tinyFilm)
  assert.deepEqual(markOf(film), { id, prompt: fox.prompt, reference: fox.reference })
  assert.deepEqual([markOf(tinyFilm), markOf(film.subarray(1))], [undefined, undefined])
  const part = await fetch(url, { headers: { range: 'bytes=4-7' } })
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 4-7/${film.length}`])
  assert.equal(await part.text(), 'ftyp')
  assert.equal((await fetch(url, { headers: { range: 'bytes=99999-' } })).status, 416)
  assert.equal((await fetch(url, { headers: { authorization: 'Bearer key-1' } })).status, 400)
})

it('a link may expire, and a new poll returns a new one', async () => {
  await using upstream = await startUpstream({ speed: 0, linkMs: 500 })
  const { id } = (await ask(upstream.url, 'POST', '/jobs', fox)).value
  const first = (await ask(upstream.url, 'GET', `/jobs/${id}`)).value.url ?? ''
  assert.equal((await fetch(first)).status, 200)
  await sleep(550)
  assert.equal((await fetch(first)).status, 403)
  const second = (await ask(upstream.url, 'GET', `/jobs/${id}`)).value.url ?? ''
  assert.equal((await fetch(second)).status, 200)
})

it('unknown, forbidden and unreadable requests are refused, and accept no job', async () => {
  await using upstream = await startUpstream()
  assert.equal((await ask(upstream.url, 'GET', '/jobs/job_1')).status, 404)
  assert.equal((await ask(upstream.url, 'DELETE', '/jobs/job_1')).status, 404)
  assert.equal((await ask(upstream.url, 'GET', '/jobs?reference=ref-1')).status, 404)
  assert.equal((await ask(upstream.url, 'POST', '/jobs', fox, { authorization: 'x' })).status, 401)
  assert.equal((await ask(upstream.url, 'POST', '/jobs', {})).status, 422)
  assert.equal((await ask(upstream.url, 'POST', '/jobs', fox)).status, 200)
  assert.equal(upstream.ledger().accepts.length, 1)
})

it('a job can be cancelled until it is done', async () => {
  await using upstream = await startUpstream({ speed: 60_000 })
  const { id } = (await ask(upstream.url, 'POST', '/jobs', fox)).value
  assert.deepEqual((await ask(upstream.url, 'DELETE', `/jobs/${id}`)).value, { cancelled: true })
  assert.equal((await ask(upstream.url, 'GET', `/jobs/${id}`)).value.error, 'cancelled')
  upstream.setFaults({ speed: 0 })
  const { id: other } = (await ask(upstream.url, 'POST', '/jobs', fox)).value
  assert.deepEqual((await ask(upstream.url, 'DELETE', `/jobs/${other}`)).value, { cancelled: false })
})

it('key: the same key is the same job, or a mistake if the body differs', async () => {
  await using upstream = await startUpstream({ mode: 'key' })
  const post = (body: object, key: string) => ask(upstream.url, 'POST', '/jobs', body, { 'idempotency-key': key })
  const first = await post(fox, 'a')
  upstream.setFaults({ next: ['submit-500-after-accept'] })
  assert.equal((await post(fox, 'a')).status, 500)
  assert.deepEqual(await post(fox, 'a'), first)
  assert.equal((await post({ ...fox, seconds: 2 }, 'a')).status, 422)
  assert.notEqual((await post(fox, 'b')).value.id, first.value.id)
  assert.deepEqual(
    upstream.ledger().accepts.map(({ key, bearer }) => [key, bearer]),
    [
      ['a', 'key-1'],
      ['b', 'key-1'],
    ],
  )
})

it('lookup: a reference is unique, also for a job that is accepted late, and can be looked up', async () => {
  await using upstream = await startUpstream({ mode: 'lookup', lateMs: 200, next: ['submit-reset-then-late-accept'] })
  await assert.rejects(ask(upstream.url, 'POST', '/jobs', fox))
  const { value } = await ask(upstream.url, 'POST', '/jobs', fox)
  await sleep(250)
  assert.deepEqual(await ask(upstream.url, 'POST', '/jobs', fox), {
    status: 409,
    value: { error: 'duplicate', id: value.id },
  })
  assert.equal(upstream.ledger().accepts.length, 1)
  const { jobs } = (await ask(upstream.url, 'GET', '/jobs?reference=ref-1')).value
  assert.deepEqual(jobs, [{ id: value.id, ...fox, created_at: upstream.ledger().accepts[0]?.at }])
  assert.deepEqual((await ask(upstream.url, 'GET', '/jobs?reference=ref-2')).value.jobs, [])
})

it('list and none: every submit is a new job; a list shows them, after a lag if so ordered', async () => {
  for (const mode of ['list', 'none'] as const) {
    await using upstream = await startUpstream({ mode, lagMs: 500 })
    const since = Date.now()
    for (const _ of [1, 2]) await ask(upstream.url, 'POST', '/jobs', fox, { 'idempotency-key': 'a' })
    assert.equal(upstream.ledger().accepts.length, 2)
    const list = () => ask(upstream.url, 'GET', `/jobs?since=${since}`)
    assert.equal((await list()).value.jobs?.length, mode === 'list' ? 0 : undefined)
    await sleep(550)
    assert.equal((await list()).value.jobs?.length, mode === 'list' ? 2 : undefined)
    assert.equal((await list()).status, mode === 'list' ? 200 : 404)
  }
})

it('faults come in line, for each kind and each prompt', async () => {
  await using upstream = await startUpstream({
    next: [
      'submit-402-before-accept',
      { fault: 'submit-403-before-accept', prompt: 'a hen' },
      'submit-429-before-accept',
    ],
  })
  const post = async (prompt: string) => (await ask(upstream.url, 'POST', '/jobs', { ...fox, prompt })).status
  assert.deepEqual([await post('a fox'), await post('a fox'), await post('a fox')], [402, 429, 200])
  assert.deepEqual([await post('a hen'), await post('a hen')], [403, 200])
})

it('refused connections end, and come in their turn; by prompt, the submit is reset instead', async () => {
  await using upstream = await startUpstream({ refuseMs: 400 })
  const head = { authorization: 'Bearer key-1' }
  const post = async () => pictureOf(await exchange(upstream.port, requestOf('POST /jobs', head, JSON.stringify(fox))))
  const fault = 'submit-refuse-connection-before-accept'
  await ask(upstream.url, 'POST', '/faults', { next: ['submit-500-before-accept', fault] })
  assert.match(await post(), /^500/)
  assert.equal(await post(), 'refused')
  await sleep(450)
  assert.match(await post(), /^200/)
  upstream.setFaults({ next: [{ fault, prompt: fox.prompt }] })
  assert.equal(await post(), 'reset')
  assert.equal(await post(), 'refused')
  assert.equal(upstream.ledger().accepts.length, 1)
})

it('a submit can hang before its body is read', async () => {
  await using upstream = await startUpstream({ next: ['submit-hang-unread-before-accept'] })
  const head = requestOf('POST /jobs', { authorization: 'Bearer k', 'content-length': '100' })
  assert.equal(pictureOf(await exchange(upstream.port, head)), 'silent')
  assert.equal(upstream.ledger().faults.length, 1)
})

it('a seed gives each prompt the same faults, in any order of requests', async () => {
  const rates = Object.fromEntries(
    submitFaults.filter(({ name }) => /-40\d-(before|after)-/.test(name)).map(({ name }) => [name, 0.05]),
  )
  const prompts = Array.from({ length: 60 }, (_, index) => `prompt ${index}`)
  const fates = async (seed: number, order: string[]) => {
    await using upstream = await startUpstream({ seed, rates })
    for (const prompt of order) await ask(upstream.url, 'POST', '/jobs', { ...fox, prompt })
    const { faults } = upstream.ledger()
    return new Map(prompts.map((prompt) => [prompt, faults.find((fault) => fault.prompt === prompt)?.fault]))
  }
  const first = await fates(7, prompts)
  assert.deepEqual(await fates(7, prompts.toReversed()), first)
  assert.notDeepEqual(await fates(8, prompts), first)
  const struck = [...first.values()].filter((fate) => fate !== undefined).length
  assert.ok(struck > 10 && struck < 45, `${struck} of 60 at a rate of ${Object.keys(rates).length * 5} %`)
})

it('orders that make no sense are refused and change nothing', async () => {
  await using upstream = await startUpstream()
  const wrong = [
    { next: ['submit-500'] },
    { next: 7 },
    { rates: { 'poll-500': 0.6, 'poll-502': 0.6 } },
    { rates: { 'poll-500': -1 } },
    { speeed: 5 },
    { speed: -5, next: ['submit-500-before-accept'] },
    { seed: 'x' },
  ]
  for (const orders of wrong) assert.equal((await ask(upstream.url, 'POST', '/faults', orders)).status, 400)
  assert.equal((await ask(upstream.url, 'POST', '/jobs', fox)).status, 200)
})

it('a process of its own prints its address, and serves its ledger', async () => {
  const script = join(import.meta.dirname, '..', 'upstream.ts')
  const args = [script, '--port', '0', '--mode', 'key', '--orders', '{"seed":7,"next":["submit-502-after-accept"]}']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = await once(createInterface(child.stdout), 'line')
    const { port, url, mode, seed } = JSON.parse(line)
    assert.deepEqual([url, mode, seed], [`http://127.0.0.1:${port}`, 'key', 7])
    const answer = await fetch(`${url}/jobs`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-1', 'idempotency-key': 'a' },
      body: JSON.stringify(fox),
    })
    assert.equal(answer.status, 502)
    const ledger = (await (await fetch(`${url}/ledger`)).json()) as { accepts: object[]; faults: object[] }
    assert.partialDeepStrictEqual(ledger, {
      accepts: [{ prompt: 'a fox', reference: 'ref-1', key: 'a', bearer: 'key-1' }],
      requests: 1,
      submits: 1,
      faults: [{ fault: 'submit-502-after-accept', prompt: 'a fox' }],
    })
  } finally {
    child.kill()
  }
})

it('the ledger has every submit that arrived and every lookup, with the status of the answer', async () => {
  await using upstream = await startUpstream({
    mode: 'lookup',
    next: ['submit-500-before-accept', 'submit-reset-after-accept', 'find-500'],
  })
  await ask(upstream.url, 'POST', '/jobs', fox)
  await assert.rejects(ask(upstream.url, 'POST', '/jobs', { ...fox, prompt: 'a hare', reference: 'ref-2' }))
  await ask(upstream.url, 'GET', '/jobs?reference=ref-1')
  await ask(upstream.url, 'GET', '/jobs?reference=ref-2')
  const { accepts, arrivals } = upstream.ledger()
  assert.deepEqual(
    accepts.map(({ reference }) => reference),
    ['ref-2'],
  )
  assert.deepEqual(
    arrivals.map(({ at: _, ...arrival }) => arrival),
    [
      { ask: 'submit', prompt: 'a fox', reference: 'ref-1', status: 500 },
      { ask: 'submit', prompt: 'a hare', reference: 'ref-2', status: null },
      { ask: 'find', prompt: null, reference: 'ref-1', status: 500 },
      { ask: 'find', prompt: null, reference: 'ref-2', status: 200 },
    ],
  )
})
