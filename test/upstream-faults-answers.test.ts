import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { Mode } from '../simulators/upstream.ts'
import { Gateway } from './gateway.ts'
import { until } from './service.ts'

/* Bad content of responses: our own keys, endless ids, endless lists. */

const key = 'sk-live-0123456789abcdef'
const echo = (status: number) => ({ status, body: `{"x": ${key}` })

type Answers = Partial<Record<'POST' | 'GET' | 'DELETE', { status: number; body: string }>>

/** An upstream whose response to each method is set by the test. */
async function listen(answers: Answers) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const { status, body } = answers[request.method as keyof Answers] ?? { status: 500, body: '' }
    request.resume().once('end', () => response.writeHead(status, { connection: 'close' }).end(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, asked, answers, [Symbol.asyncDispose]: async () => void server.close() }
}

function openAt(url: string, mode: Mode, deadlines: object = {}): Promise<Gateway> {
  const models = { film: { account: 'main', ...deadlines } }
  return Gateway.open({ mode, accounts: { main: { base_url: url, key } }, models })
}

/** Everything that an operator can read about the task. */
async function readable(way: Gateway, id: string): Promise<string> {
  return JSON.stringify(await way.show(id)) + way.service.log.join('')
}

describe('an upstream', { concurrency: 3 }, () => {
  it('that sends our key back, not as JSON: no part of it is stored, and the problem is reported', async () => {
    await using upstream = await listen({ POST: echo(200), GET: echo(200), DELETE: echo(200) })
    await using way = await openAt(upstream.url, 'lookup', { deadlines: { total: '60s' } })
    const lost = await way.submit('film', 'lost')
    await until('it was asked after', () => way.isNoted(lost, 'lookup failed'))
    const [attempt] = (await way.show(lost)).attempts
    assert.equal(attempt?.problem?.code, 'provider_unavailable')
    assert.match(attempt?.problem?.message ?? '', /\(status 200 with a body that is not JSON\)$/)

    upstream.answers.POST = { status: 200, body: '{"id":"job_1"}' }
    const taken = await way.submit('film', 'taken')
    await until('it was polled', () => way.isNoted(taken, 'poll met a problem'))
    way.clock.jump(60_000)
    await way.fails(taken, 'deadline_exceeded')
    await until('it was told to stop', () => way.service.log.some((line) => line.includes('"event":"cleanup failed"')))
    for (const id of [lost, taken]) {
      const text = await readable(way, id)
      assert.doesNotMatch(text, /sk-l|Something went wrong|"level":"error"/)
      assert.match(text, /status 200 with a body that is not JSON/)
    }
  })

  it('that fails: each failure is reported with its status', async () => {
    await using upstream = await listen({ POST: echo(500), GET: echo(502) })
    await using way = await openAt(upstream.url, 'list')
    const lost = await way.submit('film', 'lost')
    await until('it was asked after', () => way.isNoted(lost, 'lookup failed'))
    upstream.answers.POST = { status: 200, body: '{"id":"job_1"}' }
    const taken = await way.submit('film', 'taken')
    await until('it was polled', () => way.isNoted(taken, 'poll met a problem'))
    const texts = [await readable(way, lost), await readable(way, taken)]
    for (const text of texts) assert.doesNotMatch(text, /sk-l|"code":"internal"/)
    assert.match(texts[0] ?? '', /a submit got 500.*listing jobs got 502/)
    assert.match(JSON.stringify((await way.show(taken)).timeline), /a poll got 502/)
  })

  it('that returns an unusable job id: the outcome is unknown, and the id is neither stored nor polled', async () => {
    for (const [id, cause] of [
      ['x'.repeat(16_385), /the job id has 16387 bytes; at most 16384 are accepted/],
      ['..', /the job id is not like/],
      ['a/b?c', /the job id is not like/],
    ] as const) {
      await using upstream = await listen({ POST: { status: 200, body: JSON.stringify({ id }) } })
      await using way = await openAt(upstream.url, 'none')
      const task = await way.submit('film')
      await until('it is unknown', () => way.isNoted(task, 'outcome unknown'))
      const { state, attempts, timeline } = await way.show(task)
      assert.deepEqual([state, attempts[0]?.state, attempts[0]?.operation], ['held', 'open', null])
      assert.match(JSON.stringify(timeline), cause)
      assert.doesNotMatch(await readable(way, task), /xxxxx/)
      way.clock.jump(31 * 60_000)
      await way.fails(task, 'submission_unknown')
      assert.deepEqual(upstream.asked, ['POST /jobs'])
    }
  })

  it('that lists too many jobs: the lookup has failed', async () => {
    const job = { model: 'film', prompt: 'film', seconds: 4, size: '1280x720' }
    const jobs = Array.from({ length: 20_000 }, (_, at) => ({ id: `job_${at}`, ...job }))
    await using upstream = await listen({ GET: { status: 200, body: JSON.stringify({ jobs }) } })
    await using way = await openAt(upstream.url, 'list')
    const id = await way.submit('film')
    await until('it was asked twice', () => upstream.asked.length >= 3)
    const failed = (await way.show(id)).timeline.filter(({ name }) => name === 'lookup failed')
    assert.deepEqual([failed.length, /the provider lists more than 1000 jobs/.test(JSON.stringify(failed))], [1, true])
    upstream.answers.GET = { status: 200, body: JSON.stringify({ jobs: jobs.slice(0, 1) }) }
    await until('it is found', async () => (await way.show(id)).attempts[0]?.operation === 'job_0')
  })
})
