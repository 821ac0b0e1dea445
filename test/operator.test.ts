import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCli } from '../src/cli/cli.fixture.ts'
import { command } from '../src/cli/task.ts'
import type { Terminal } from '../src/cli/terminal.ts'
import type { Attempt } from '../src/core/attempt.ts'
import { Problem } from '../src/core/problem.ts'
import { type Json, newTaskId, queueTask, type Task } from '../src/core/task.ts'
import { openRandom } from '../src/main/random.ts'
import { providers } from '../src/providers/index.ts'
import type { Provider } from '../src/providers/provider.ts'
import { openSqlite } from '../src/stores/index.ts'
import type { Store } from '../src/stores/store.ts'
import { startService, type TestService, token } from './service.ts'

/* What an operator sees and decides, over HTTP and on the command line, against the whole service. */

const secret = 'operator secret'
const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
const evil = 'a fox \x1b[2J\u202e\x9b31m'
const unknownId = `video_${'0'.repeat(48)}`

const root = mkdtempSync(join(tmpdir(), 'filmgate-operator-'))
const data = join(root, 'data')
const random = openRandom()
const held: string[] = []
let orphan: string
let patient: string
let service: TestService
let env: Record<string, string>

before(async () => {
  mkdirSync(data)
  {
    await using store = await openSqlite({ folder: data, now: Date.now(), onFatal: assert.fail })
    for (let count = 0; count < 13; count += 1) held.push(await hold(store))
    orphan = await leaveBehind(store)
    patient = await hold(store, {}, 3_600_000)
  }
  service = await startService({ env: { FILMGATE_DATA: data, FILMGATE_OPERATOR_TOKEN: secret } })
  env = { FILMGATE_BASE_URL: `${service.url}/v1`, FILMGATE_OPERATOR_TOKEN: secret }
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(root, { recursive: true })
})

/** A held task that no worker claims: it is never due. */
async function hold(
  store: Store,
  given: { account?: string; finishBy?: number } = {},
  ageMs = 600_000,
): Promise<string> {
  const now = Date.now()
  const asked = { owner: 'default', model: 'studio', card: 'studio', prompt: evil, parameters: {}, image: null }
  const size = { width: 256, height: 256 }
  // It has been held for longer than it had time to start.
  const times = { startBy: now - 1, finishBy: now + 3_600_000 }
  const id = newTaskId(now, random)
  const attempt: Attempt = {
    ...{ id: `att_${id.slice(-36)}`, task: id, number: 1, account: given.account ?? 'gone', keyVersion: '12345678' },
    ...{
      upstreamModel: given.account === 'fal' ? 'fal-ai/veo3.1/fast' : 'studio',
      openedAt: now - ageMs,
      state: 'open',
      operation: null,
      settledAt: null,
    },
    problem: { code: 'provider_unavailable', message: 'the connection broke \x1b[31m' },
  }
  const task: Task = {
    ...queueTask({ id, digest: 0, seconds: 1, size, ...asked, ...times }, now),
    ...{ state: 'held', attempt: attempt.id, attempts: 1, account: attempt.account, dueAt: null },
    ...given,
  }
  await store.insert(task)
  const leased = await store.claimOne(id, 'held', now + 9_000)
  assert.ok(leased && (await store.record({ task: { ...leased, dueAt: null }, opened: attempt, fact: attempt })))
  return id
}

/** A task that failed, and whose provider accepted it later. */
async function leaveBehind(store: Store): Promise<string> {
  const id = await hold(store)
  const task = await store.claimOne(id, 'held', Date.now() + 9_000)
  assert.ok(task)
  const fact = { id: task.attempt ?? '', operation: null, settledAt: Date.now(), problem: null }
  const error = { code: 'submission_unknown', message: 'nobody knows' } as const
  await store.record({ task: { ...task, state: 'failed', error, dueAt: null }, fact: { ...fact, state: 'abandoned' } })
  await store.record({ task, fact: { ...fact, state: 'accepted', operation: { id: 'late' } } })
  return id
}

function take(): string {
  const id = held.pop()
  assert.ok(id, 'more held tasks are needed')
  return id
}

interface Shown {
  id: string
  state: string
  status: string
  error: { code: string } | null
  attempts: { id: string; state: string; account: string; operation: Json }[]
  timeline: { at: string; name: string; detail: Record<string, unknown> | null }[]
  [field: string]: unknown
}

async function call(path: string, init: RequestInit = {}, bearer = secret) {
  const headers = { authorization: `Bearer ${bearer}`, ...init.headers }
  const answer = await service.fetch(`/operator/v1${path}`, { ...init, headers })
  type Fault = { message: string; type: string; param: string | null }
  const body = (await answer.json()) as Shown & { error: Fault | null; data: Shown[] }
  return { status: answer.status, body }
}

function post(path: string, body?: unknown) {
  const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return call(path, { method: 'POST', ...(body !== undefined && json) })
}

async function finished(id: string): Promise<Shown> {
  await service.finish(id)
  return (await call(`/tasks/${id}`)).body
}

/** The operation of the attempt of that task at studio. */
const drawing = (task: string): Json => ({
  ...{ film: `att_${task.slice(-36)}`, prompt: 'a brown fox', seconds: 1, width: 256, height: 256 },
  ...{ image: false, seed: 7, caption: false },
})

it('operator routes are for the operator token alone, and that token is for nothing else', async () => {
  for (const path of [`/tasks/${unknownId}`, '/attempts', '/accounts']) {
    const { status, body } = await call(path, {}, token)
    assert.equal(status, 403)
    assert.match(body.error?.message ?? '', /This is a client token/)
    assert.equal((await call(path, {}, 'nobody')).status, 401)
  }
  assert.equal((await call('/tasks/x/give_up', { method: 'POST' }, token)).status, 403)
  const answer = await service.fetch('/v1/models', { headers: { authorization: `Bearer ${secret}` } })
  assert.equal(answer.status, 401)
  const nothing = await call('/nothing')
  assert.deepEqual([nothing.status, nothing.body.error?.code], [404, 'unknown_url'])
  assert.match(nothing.body.error?.message ?? '', /GET \/operator\/v1\/nothing\. .*\/operator\/v1\/attempts/)
})

it('shows all that happened to a video, in order', async () => {
  const wanted = { ...film, prompt: 'a red fox with a clarinet' }
  const { id } = (await (await service.submit(wanted)).json()) as { id: string }
  const task = await finished(id)
  const { state, status, progress, owner, card, prompt, account, error, deleted } = task
  assert.deepEqual([state, status, progress, error, deleted], ['completed', 'completed', 100, null, false])
  assert.deepEqual([owner, card, prompt, account], ['default', 'studio', wanted.prompt, 'studio'])
  assert.deepEqual(
    task.timeline.map(({ name }) => name),
    ['attempt opened', 'attempt accepted', 'running', 'words not understood', 'storing', 'completed'],
  )
  assert.deepEqual(task.timeline[3]?.detail, { words: 'clarinet' })
  const times = [task.created_at, ...task.timeline.map(({ at }) => at)] as string[]
  assert.deepEqual(times, times.toSorted())
  assert.ok(times.every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time)))
  const [attempt, ...others] = task.attempts
  assert.ok(attempt)
  assert.deepEqual([attempt.state, attempt.account, others], ['accepted', 'studio', []])
  assert.equal(task.timeline[0]?.detail?.attempt, attempt.id)
  assert.equal((attempt.operation as { film: string }).film, attempt.id)
})

it('searches the tasks of all owners, page by page', async () => {
  const ids = async (query: string) => (await call(`/tasks?${query}`)).body.data.map(({ id }) => id)
  const [newest, ...older] = [...held, orphan, patient].toSorted().reverse()
  const all = (await call('/tasks?state=held&limit=100')).body.data
  assert.ok(all.every(({ state, attempts, timeline }) => state === 'held' && !attempts && !timeline))
  assert.deepEqual(await ids('error_code=submission_unknown'), [orphan])
  assert.deepEqual(await ids(`text=FOX&account=gone&limit=100`), [newest, ...older])
  assert.deepEqual(await ids('owner=nobody'), [])
  assert.deepEqual(await ids('created_before=2020-01-01'), [])
  const seen: string[] = []
  let after = ''
  do {
    const { body } = await call(`/tasks?account=gone&created_since=2020-01-01T00:00:00%2B02:00&limit=4${after}`)
    seen.push(...body.data.map(({ id }) => id))
    after = body.has_more ? `&after=${body.last_id}` : ''
  } while (after !== '')
  assert.deepEqual(seen, [newest, ...older])
  for (const [query, param, message] of [
    ['state=lost', 'state', /^`state` is 'lost'\. Allowed: /],
    [
      'created_since=yesterday',
      'created_since',
      /^`created_since` is 'yesterday'\. Expected a time such as 2026-11-15/,
    ],
    ['created_before=2026-13-45', 'created_before', /Expected a time such as/],
    ['text=a%00b', 'text', /^`text` has a NUL character\. Remove it\.$/],
    ['text=', 'text', /^`text` is empty\. Send a value\.$/],
    ['owner=a&owner=b', 'owner', /^`owner` is sent more than once\. Send it once\.$/],
    ['limit=101', 'limit', /Expected a whole number from 1 to 100/],
    ['after=abc', 'after', /^`after` is 'abc', which is not the id of a task\. Use `last_id` of a page\.$/],
    ['page=2', 'page', /^Unknown parameter: 'page'\. This request accepts: status, state, model, /],
  ] as const) {
    const { status, body } = await call(`/tasks?${query}`)
    assert.deepEqual([status, body.error?.param], [400, param], query)
    assert.match(body.error?.message ?? '', message)
  }
  for (const path of ['/audit?limt=5', '/tokens?limt=5']) {
    const { status, body } = await call(path)
    assert.deepEqual([status, body.error?.param], [400, 'limt'], path)
    assert.match(body.error?.message ?? '', /^Unknown parameter: 'limt'\. This request accepts: after, limit/)
  }
  for (const [path, of] of [
    ['/audit?after=now', "'now', which is not the id of an entry"],
    ['/tokens?after=now', "'now', which is not the id of a token"],
  ] as const) {
    const { status, body } = await call(path)
    assert.deepEqual([status, body.error?.param], [400, 'after'], path)
    assert.equal(body.error?.message, `\`after\` is ${of}. Use \`last_id\` of a page.`)
  }
})

it('a list of alarms refuses what is no cursor and no parameter of it', async () => {
  const foreign = /, which is not the id of an alarm\. Use `last_id` of a page\.$/
  for (const [query, param, message] of [
    ['limt=5', 'limt', /^Unknown parameter: 'limt'\. This request accepts: status, after, limit\.$/],
    ['after=nope', 'after', foreign],
    ['after=', 'after', foreign],
    ['after=a%00b', 'after', foreign],
    [`after=video_${'0'.repeat(28)}`, 'after', foreign],
    ['status=odd', 'status', /Allowed: 'active', 'cleared', 'all'/],
    ['limit=101', 'limit', /Expected a whole number from 1 to 100/],
  ] as const) {
    const { status, body } = await call(`/alarms?${query}`)
    assert.deepEqual([status, body.error?.param], [400, param], query)
    assert.match(body.error?.message ?? '', message)
  }
  assert.equal((await call(`/alarms?status=all&after=alarm_${'f'.repeat(28)}`)).status, 200)
})

it('lists jobs that may have cost money and belong to no task', async () => {
  const open = (await call('/attempts?limit=1')).body
  assert.equal(open.has_more, true)
  const [longest] = open.data
  assert.deepEqual([longest?.task, longest?.state, longest?.account], [patient, 'open', 'gone'])
  assert.deepEqual([longest?.task_state, longest?.prompt, longest?.owner], ['held', evil, 'default'])
  assert.ok(Number(longest?.age_seconds) >= 3_600)
  const next = (await call(`/attempts?limit=1&after=${open.last_id}`)).body
  assert.equal(next.data.length, 1)
  assert.notEqual(next.data[0]?.task, patient)
  const orphans = (await call('/attempts?state=orphan')).body
  assert.deepEqual(
    orphans.data.map(({ task, operation, task_state: state }) => [task, operation, state]),
    [[orphan, { id: 'late' }, 'failed']],
  )
  for (const [query, param, message] of [
    ['state=accepted', 'state', /^`state` is 'accepted'\. Allowed: 'open', 'abandoned', 'orphan'\.$/],
    [`state=${'x'.repeat(60)}`, 'state', /^`state` is 'x{50}…'\. Allowed: /],
    ['after=nothing', 'after', /^`after` is not a place in this list\. Use `last_id` of a page\.$/],
    ['limit=0', 'limit', /^`limit` is '0'\. Expected a whole number from 1 to 999\.$/],
    ['limit=1000', 'limit', /Expected a whole number from 1 to 999/],
    ['limit=abc', 'limit', /Expected a whole number from 1 to 999/],
    ['=x', '', /^Unknown parameter: ''\. This request accepts: state, after, limit\.$/],
    ['page=2', 'page', /^Unknown parameter: 'page'\. This request accepts: state, after, limit\.$/],
  ] as const) {
    const { status, body } = await call(`/attempts?${query}`)
    assert.deepEqual([status, body.error?.param], [400, param], query)
    assert.match(body.error?.message ?? '', message)
  }
})

describe('a held task', () => {
  it('that is resubmitted gets a new attempt, and the old one is abandoned', async () => {
    const id = take()
    const { status, body } = await post(`/tasks/${id}/resubmit`)
    assert.deepEqual([status, body.state, body.status], [200, 'queued', 'queued'])
    const task = await finished(id)
    assert.equal(task.state, 'completed')
    assert.deepEqual(
      task.attempts.map(({ account, state }) => [account, state]),
      [
        ['gone', 'abandoned'],
        ['studio', 'accepted'],
      ],
    )
    const [decision, queued] = task.timeline
    assert.deepEqual([decision?.name, queued?.name], ['operator: resubmitted', 'queued'])
    assert.deepEqual(decision?.detail, { operator: 'operator', attempt: task.attempts[0]?.id, account: 'gone' })
  })

  it('that is given up fails and says why, to its owner too', async () => {
    const id = take()
    const countOf = async (series: string) => {
      const text = await (await service.fetch('/metrics', { headers: { authorization: `Bearer ${secret}` } })).text()
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')
          .at(-1) ?? 0,
      )
    }
    const counts = () =>
      Promise.all([
        countOf('filmgate_tasks_ended_total{model="studio",outcome="submission_unknown"}'),
        countOf('filmgate_attempts_total{account="other",outcome="abandoned"}'),
      ])
    const [ended, abandoned] = await counts()
    const { status, body } = await post(`/tasks/${id}/give_up`, {})
    assert.deepEqual(await counts(), [Number(ended) + 1, Number(abandoned) + 1])
    assert.deepEqual([status, body.state, body.error?.code], [200, 'failed', 'submission_unknown'])
    assert.deepEqual(
      body.timeline.map(({ name }) => name),
      ['operator: given up', 'failed'],
    )
    const seen = (await service.finish(id)) as { status: string; error: { code: string } }
    assert.deepEqual([seen.status, seen.error.code], ['failed', 'submission_unknown'])
    const { data } = (await call('/attempts?state=abandoned')).body
    assert.ok(data.some(({ task }) => task === id))
    const line = `"event":"operator: given up","request":"req_\\w+","task":"${id}","operator":"operator"`
    assert.match(service.log.join(''), new RegExp(line))
    const [entry] = (await call('/audit?limit=1')).body.data
    const { action, target, actor, before, after } = entry as unknown as Record<string, { state: string }>
    assert.deepEqual([action, target, actor], ['task.give_up', id, 'config:operator'])
    assert.deepEqual([before?.state, after?.state], ['held', 'failed'])
  })

  it('that is adopted goes on with what was found, and nothing is sent', async () => {
    await using own = await startHeld({ account: 'studio' })
    const { status, body } = await own.post('adopt', { operation: drawing(own.id) })
    assert.deepEqual([status, body.state, body.status], [200, 'running', 'in_progress'])
    await own.service.finish(own.id)
    const task = await own.show()
    assert.equal(task.state, 'completed', JSON.stringify(task))
    assert.deepEqual(
      task.attempts.map(({ state, operation }) => [state, operation]),
      [['accepted', drawing(own.id)]],
    )
    assert.deepEqual(
      task.timeline.map(({ name }) => name),
      ['operator: adopted', 'running', 'storing', 'completed'],
    )
  })

  it('is adopted by the id that the console of its provider shows', async () => {
    await using own = await startHeld(
      { account: 'fal' },
      'accounts: { fal: { key: x, base_url: "http://127.0.0.1:9" } }',
    )
    const { status, body } = await own.post('adopt', { operation: '../x' })
    assert.deepEqual([status, body.error?.param], [400, 'operation'])
    assert.equal((await own.post('adopt', { operation: '764cabcf-b745' })).status, 200)
    assert.equal((await own.show()).attempts[0]?.operation, 'fal-ai/veo3.1/requests/764cabcf-b745')
  })

  it('can not be adopted as what is another’s, and can still be decided after', async () => {
    await using own = await startHeld({ account: 'studio' })
    const { id } = (await (await own.service.submit(film)).json()) as { id: string }
    await own.service.finish(id)
    const operation = (await own.show(id)).attempts[0]?.operation as Record<string, Json>
    const turned = Object.fromEntries(Object.entries(operation).toReversed())
    const { status, body } = await own.post('adopt', { operation: turned })
    assert.equal(status, 400)
    assert.match(
      body.error?.message ?? '',
      /^Operation \{.*"film":"att_\w+".* of account 'studio' already belongs to another/,
    )
    assert.equal((await own.post('give_up')).status, 200)
  })

  it('can not be adopted as what its provider could never have said, and can still be decided after', async () => {
    await using own = await startHeld({ account: 'studio' })
    const mine = drawing(own.id) as Record<string, Json>
    const films = ['../../private/home-video', 'found', `att_${'0'.repeat(36)}`].map((film) => ({ ...mine, film }))
    for (const operation of [{}, ' ', 'gen-8814', { ...mine, seconds: 900 }, ...films]) {
      const { status, body } = await own.post('adopt', { operation })
      assert.deepEqual([status, body.error?.param], [400, 'operation'], JSON.stringify(operation))
      assert.match(
        body.error?.message ?? '',
        /Operations of account 'studio' look like \{"film":"<the id of the attempt>"/,
      )
    }
    assert.equal((await own.show()).state, 'held')
    assert.equal((await own.post('adopt', { operation: mine })).status, 200)
  })

  it('can not be adopted on an account that is not there, nor resubmitted after its deadline', async () => {
    const { status, body } = await post(`/tasks/${take()}/adopt`, { operation: 'op-1' })
    assert.equal(status, 400)
    assert.match(body.error?.message ?? '', /Account 'gone' is not configured/)
    await using late = await startHeld({ finishBy: Date.now() - 1 })
    const answer = await late.post('resubmit')
    assert.equal(answer.status, 400)
    assert.match(answer.body.error?.message ?? '', /had to be finished by 20.* Give it up\./)
  })

  it('is decided only about the attempt that the operator saw', async () => {
    const own = take()
    const [mine, other] = [`att_${own.slice(-36)}`, `att_${unknownId.slice(-36)}`]
    for (const decision of ['adopt', 'resubmit', 'give_up']) {
      const more = decision === 'adopt' ? { operation: 'op-1' } : {}
      const { status, body } = await post(`/tasks/${own}/${decision}`, { ...more, attempt: other })
      assert.deepEqual([status, body.error?.code, body.error?.param], [400, 'invalid_request', 'attempt'])
      const message = `\`attempt\` is '${other}'. The open attempt of task '${own}' is '${mine}'. Look for that one at the provider, then decide again.`
      assert.equal(body.error?.message, message)
      assert.equal((await post(`/tasks/${own}/${decision}`, { ...more, attempt: 7 })).body.error?.code, 'invalid_type')
    }
    assert.equal((await call(`/tasks/${own}`)).body.state, 'held')
    assert.equal((await post(`/tasks/${own}/give_up`, { attempt: mine })).status, 200)
  })

  it('is decided once, however many try', async () => {
    const id = take()
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(`/tasks/${id}/give_up`)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)])
    for (const { body } of answers.filter(({ status }) => status === 400))
      assert.match(body.error?.message ?? '', /is failed, not held|is being processed at this moment/)
  })
})

it('a task that is not held, not there or deleted can not be decided', async () => {
  const { id } = (await (await service.submit(film)).json()) as { id: string }
  await service.finish(id)
  const deleted = take()
  await service.fetch(`/v1/videos/${deleted}`, { method: 'DELETE' })
  for (const decision of ['adopt', 'resubmit', 'give_up']) {
    const decide = (task: string) =>
      post(`/tasks/${task}/${decision}`, decision === 'adopt' ? { operation: 'op-1' } : {})
    const { status, body } = await decide(id)
    assert.deepEqual([status, body.error?.type, body.error?.code], [400, 'invalid_request_error', 'invalid_request'])
    assert.match(body.error?.message ?? '', /is completed, not held\. There is nothing to decide/)
    assert.notEqual((await decide(deleted)).status, 200)
    for (const unknown of [unknownId, 'nonsense', '%00']) assert.equal((await decide(unknown)).status, 404)
  }
  assert.equal((await call(`/tasks/${unknownId}`)).status, 404)
})

it('a body that says no operation changes nothing', async () => {
  const id = take()
  const bodies: unknown[] = [{}, [], 'text', 7, { operation: null }, { operation: '' }, { operation: 7 }]
  for (const body of [...bodies, { operation: 'x'.repeat(20_000) }, { operation: 'x', more: 1 }]) {
    const { status, body: answer } = await post(`/tasks/${id}/adopt`, body)
    assert.equal(status, 400, JSON.stringify(body).slice(0, 100))
    assert.equal(typeof answer.error?.message, 'string')
  }
  for (const body of ['', '{"operation"', `{"operation":${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}}`]) {
    const broken = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    assert.equal((await call(`/tasks/${id}/adopt`, broken)).status, 400, body.slice(0, 20))
  }
  assert.equal((await call(`/tasks/${id}`)).body.state, 'held')
})

it('a body that is not accepted is refused with what is', async () => {
  const id = take()
  const send = async (decision: string, type: string, body: string) => {
    const headers = { 'content-type': type }
    const { status, body: answer } = await call(`/tasks/${id}/${decision}`, { method: 'POST', headers, body })
    return [status, answer.error?.code, answer.error?.param, answer.error?.message]
  }
  assert.deepEqual(await send('adopt', 'application/json', '{"operation":"x","more":1}'), [
    ...[400, 'unknown_parameter', 'more', "Unknown parameter: 'more'. This request accepts: operation, attempt."],
  ])
  const [, code, , message] = await send('adopt', 'application/json', '{"operation":{"__proto__":1}}')
  assert.equal(code, 'invalid_json')
  assert.match(String(message), /a field named '__proto__'/)
  assert.deepEqual(await send('adopt', 'application/json', '{"operation":"x","operation":"y"}'), [
    ...[400, 'invalid_json', 'operation', "The body has the field 'operation' twice. Send each field once."],
  ])
  assert.deepEqual(await send('adopt', 'multipart/form-data; boundary=b', '--b--'), [
    ...[415, 'unsupported_media_type', null, 'Send the request as application/json.'],
  ])
  assert.deepEqual(await send('give_up', 'text/plain', 'please'), [
    ...[415, 'unsupported_media_type', null, 'Send the request as application/json.'],
  ])
  assert.deepEqual(await send('give_up', 'application/json', '{'), [
    ...[400, 'invalid_json', null, 'The body is not valid JSON.'],
  ])
  const [status] = await send('give_up', 'application/json', '')
  assert.equal(status, 200)
})

it('what is not there is not found, however long its name', async () => {
  const long = 'x'.repeat(10_000)
  const task = await call(`/tasks/${long}`)
  assert.deepEqual([task.status, task.body.error?.code], [404, 'video_not_found'])
  for (const name of ['nobody', long]) {
    const { status, body } = await post(`/accounts/${name}/resume`)
    assert.deepEqual([status, body.error?.code], [404, 'account_not_found'])
    assert.match(body.error?.message ?? '', /^There is no account '(nobody|x{100})'\. Configured accounts: studio\.$/)
  }
})

it('an account that refused our key is shown as paused, and goes on when it is resumed', async () => {
  let refusing = true
  const refused = { problem: new Problem('provider_unavailable', 'no'), blame: 'account' } as const
  const { studio } = providers
  assert.ok(studio)
  const create = async (...setting: Parameters<typeof studio.create>): Promise<Provider> => {
    const provider = await studio.create(...setting)
    return { ...provider, submit: async (...args) => (refusing ? { refused } : provider.submit(...args)) }
  }
  const world = { members: { studio: { ...studio, create } } }
  await using moody = await startService({ world, env: { FILMGATE_OPERATOR_TOKEN: secret } })
  const headers = { authorization: `Bearer ${secret}` }
  const ask = async (path: string, method = 'GET') => {
    const answer = await moody.fetch(`/operator/v1/accounts${path}`, { method, headers })
    return { status: answer.status, body: (await answer.json()) as { data: Health[]; was_paused: boolean } & Health }
  }
  type Health = { name: string; health: { state: string; reason: string; paused_until: string } }
  const unused = { state: 'ok', reason: null, paused_until: null, failures: 0, has_worked: false }
  assert.deepEqual((await ask('')).body.data[0]?.health, unused)

  const { id } = (await (await moody.submit(film)).json()) as { id: string }
  while ((await ask('')).body.data[0]?.health.state !== 'paused');
  const run = (...args: string[]) =>
    runCli(args, { env: { FILMGATE_BASE_URL: moody.url, FILMGATE_OPERATOR_TOKEN: secret }, cwd: root })
  const table = await run('accounts')
  assert.match(table.stdout, /^ACCOUNT .*\nstudio +paused +studio .*it rejects the key.*; next try in (5 min|\d+ s)\n$/)
  assert.equal((await ask('/studio/resume', 'POST')).body.was_paused, true)
  while ((await ask('')).body.data[0]?.health.state !== 'paused');
  refusing = false
  const resumed = await run('accounts', 'resume', 'studio')
  assert.deepEqual([resumed.code, resumed.stdout], [0, 'resumed studio\n'], resumed.stderr)
  assert.equal((await moody.finish(id)).status, 'completed')
  const again = await ask('/studio/resume', 'POST')
  assert.deepEqual([again.status, again.body.was_paused, again.body.health.state], [200, false, 'ok'])
  const unneeded = await run('accounts', 'resume', 'studio')
  assert.deepEqual([unneeded.code, unneeded.stdout], [0, 'studio was not paused\n'], unneeded.stderr)
})

describe('the command line', () => {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(args, { env, cwd: root })
    assert.equal(code, 0, stderr)
    return stdout
  }

  it('shows a task: its facts, its attempts, its timeline since its creation', async () => {
    const { id } = (await (await service.submit({ ...film, prompt: `${evil}\n fox` })).json()) as { id: string }
    await service.finish(id)
    const shown = await run('task', 'show', id)
    const [facts = '', attempts = '', timeline = ''] = shown.split('\n\n')
    assert.match(facts, new RegExp(`^id +${id}\\nowner +default\\nstate +completed\\nprompt +a fox +\\[2J 31m +fox\\n`))
    assert.match(attempts, /^# {2}ATTEMPT.*\n1 {2}att_\w+ {2}accepted {2}studio +\+0:0\d\.\d{3} /)
    const lines = timeline.split('\n').map((line) => line.trim())
    assert.match(lines[1] ?? '', /^\+0:00\.000 {2}created$/)
    assert.match(lines[2] ?? '', /^\+0:0\d\.\d{3} {2}attempt opened +#1, account studio,/)
    assert.match(lines.at(-2) ?? '', /^\+0:\d\d\.\d{3} {2}completed/)
    assert.equal(JSON.parse(await run('task', 'show', id, '--json')).timeline.at(-1).name, 'completed')
  })

  it('shows what is held and what was left behind, and lets nothing at the terminal', async () => {
    const id = take()
    const list = await run('task', 'held')
    assert.match(list, new RegExp(`\\n${id} +1\\d min +gone .*the connection broke +\\[31m \\(provider_unavail`))
    assert.match(list, /^TASK +AGE +ACCOUNT /)
    const left = await run('task', 'orphans')
    assert.match(left, new RegExp(`\\n${orphan} +orphan .*\\{"id":"late"\\}`))
    const shown = await run('task', 'show', id)
    assert.match(shown, /state +held, shown to its owner as queued\n/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    for (const text of [list, left, shown]) assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/)
    const json = JSON.parse(await run('task', 'held', '--limit', '1', '--json'))
    // Tasks that are being sent now may be among them. All of them are younger.
    assert.deepEqual([json.data.length, json.data[0].task, json.has_more], [1, patient, true])
  })

  it('decides: asks first in a terminal, needs --yes elsewhere', async (test) => {
    const id = take()
    const unasked = await runCli(['task', 'give-up', id], { env, cwd: root })
    assert.equal(unasked.code, 2)
    assert.match(unasked.stderr, /needs a confirmation, and there is no terminal to ask; use --yes/)
    const said: string[] = []
    const terminal = (key: string) =>
      ({
        ...{ env, canAsk: true, colour: { stdout: false, stderr: false }, stdoutIsTerminal: false },
        ...{ now: () => Date.now(), out: (text: string) => said.push(text), err: (text: string) => said.push(text) },
        readKey: async () => key,
      }) as unknown as Terminal
    await assert.rejects(command.run(['give-up', id], terminal('\x03')), /nothing was done/)
    assert.equal((await call(`/tasks/${id}`)).body.state, 'held')
    const sent = test.mock.method(globalThis, 'fetch')
    assert.equal(await command.run(['give-up', id], terminal('y')), 0)
    // The decision is about the attempt that the question was about.
    assert.equal(sent.mock.calls.at(-1)?.arguments[1]?.body, JSON.stringify({ attempt: `att_${id.slice(-36)}` }))
    assert.match(
      said.join(''),
      new RegExp(`${id} is held, sent to gone 1\\d min ago: a fox +\\[2J 31m\\nGive it up\\?`),
    )
    assert.equal(said.at(-1), `given up: ${id} is failed now\n`)

    const other = take()
    assert.equal(await run('task', 'resubmit', other, '--yes'), `resubmitted: ${other} is queued now\n`)
    assert.equal((await finished(other)).state, 'completed')
    const again = await runCli(['task', 'resubmit', other, '-y'], { env, cwd: root })
    assert.equal(again.code, 1)
    assert.match(again.stderr, /is completed, not held/)
  })

  it('adopts an operation, JSON or text', async () => {
    await using own = await startHeld({ account: 'studio' })
    const options = { env: { FILMGATE_BASE_URL: own.service.url, FILMGATE_OPERATOR_TOKEN: secret }, cwd: root }
    const broken = await runCli(['task', 'adopt', own.id, '{film: x}'], options)
    assert.equal(broken.code, 2)
    assert.match(broken.stderr, /starts like JSON but is not valid JSON/)
    const { code, stdout, stderr } = await runCli(['task', 'adopt', own.id, JSON.stringify(drawing(own.id))], options)
    assert.deepEqual([code, stdout], [0, `adopted: ${own.id} is running now\n`], stderr)
    assert.equal((await own.service.finish(own.id)).status, 'completed')

    await using text = await startHeld({ account: 'studio' })
    const answer = await runCli(['task', 'adopt', text.id, '12345', '--json'], {
      ...options,
      env: { ...options.env, FILMGATE_BASE_URL: text.service.url },
    })
    assert.equal(answer.code, 1)
    assert.match(
      answer.stderr,
      /can't be the operation of attempt 'att_\w+'\. Operations of account 'studio' look like \{"film"/,
    )
  })

  it('says what is missing, wrong or refused', async () => {
    const cases: [args: string[], code: number, text: RegExp, more?: Record<string, string>][] = [
      [['task'], 2, /the word after task is missing; use one of: list, show, held/],
      [['task', 'shwo', 'x'], 2, /there is no 'task shwo'; did you mean show\?/],
      [['task', 'show'], 2, /the id is missing/],
      [['task', 'adopt', 'x'], 2, /the operation is missing/],
      [['task', 'held', '--limit', '0'], 2, /--limit 0: use a number from 1 to 999/],
      [['accounts', 'pause'], 2, /use accounts, or accounts resume NAME/],
      [
        ['task', 'held'],
        2,
        /token is not set\n.*\n {2}export FILMGATE_OPERATOR_TOKEN=/,
        { FILMGATE_OPERATOR_TOKEN: '' },
      ],
      [['task', 'held', '--token', token], 1, /This is a client token.*\nThe token came from --token\./],
      [['task', 'show', 'nonsense'], 1, /Task 'nonsense' not found/],
      [['accounts', 'resume', 'a/b'], 1, /There is no account 'a\/b'/],
    ]
    for (const [args, code, text, more] of cases) {
      const { stdout, stderr, ...ended } = await runCli(args, { env: { ...env, ...more }, cwd: root })
      assert.deepEqual([ended.code, stdout], [code, ''], stderr)
      assert.match(stderr, text)
    }
    assert.match(await run('task', '--help'), /Examples:\n {2}filmgate task held\n/)
  })

  it('lists the accounts, and those that tasks wait for but that do not exist', async () => {
    const { code, stdout, stderr } = await runCli(['accounts'], { env, cwd: root })
    assert.equal(code, 0)
    assert.match(stdout, /^ACCOUNT +HEALTH +PROVIDER .*\nstudio +ok +studio +\d+ +hold +key\n$/)
    assert.equal(stderr, "Tasks wait for the account 'gone', which is not configured.\n")
  })

  it('names what other processes make themselves as theirs, and does not resume it', async () => {
    await using fleet = await startHeld({ account: 'studio@5ad1' })
    const headers = { authorization: `Bearer ${secret}` }
    const accounts = await fleet.service.fetch('/operator/v1/accounts', { headers })
    const { missing, elsewhere } = (await accounts.json()) as { missing: string[]; elsewhere: string[] }
    assert.deepEqual([missing, elsewhere], [[], ['studio@5ad1']])
    const options = { env: { ...env, FILMGATE_BASE_URL: fleet.service.url }, cwd: root }
    const { stdout, stderr } = await runCli(['accounts'], options)
    assert.match(stdout, /\nstudio +ok /)
    assert.equal(stderr, "Other processes have accounts of their own, which can't be resumed here: studio@5ad1.\n")
    const resumed = await runCli(['accounts', 'resume', 'studio@5ad1'], options)
    assert.equal(resumed.code, 1)
    assert.match(
      resumed.stderr,
      /of another process's account name\. Such an account can't be resumed here\. Its pause ends by itself/,
    )
  })
})

/** A service of its own with one held task. */
async function startHeld(given: Parameters<typeof hold>[1], yaml = '') {
  const folder = mkdtempSync(join(root, 'held-'))
  let id: string
  {
    await using store = await openSqlite({ folder, now: Date.now(), onFatal: assert.fail })
    id = await hold(store, given)
  }
  const service = await startService({ yaml, env: { FILMGATE_DATA: folder, FILMGATE_OPERATOR_TOKEN: secret } })
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const path = (of: string) => `/operator/v1/tasks/${of}`
  return {
    id,
    service,
    async show(of = id) {
      return (await (await service.fetch(path(of), { headers })).json()) as Shown
    },
    async post(decision: string, body: unknown = {}) {
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const answer = await service.fetch(`${path(id)}/${decision}`, init)
      return { status: answer.status, body: (await answer.json()) as Awaited<ReturnType<typeof call>>['body'] }
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}
