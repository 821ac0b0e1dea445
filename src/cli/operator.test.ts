import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCli, send, startFakeApi } from './cli.fixture.ts'
import { table } from './screen/table.ts'
import { command, type ShownTask, showTask } from './task.ts'
import type { Terminal } from './terminal.ts'

/* The commands for operators, with a fake server. test/operator.test.ts has the whole service. */

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-operator-'))
after(() => rmSync(cwd, { recursive: true }))

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000).toISOString()

const task: ShownTask = {
  id: `video_${'0'.repeat(48)}`,
  owner: 'default',
  model: 'fox',
  card: 'fox',
  prompt: 'a fox',
  seconds: '4',
  size: '1280x720',
  state: 'completed',
  status: 'completed',
  progress: 100,
  error: null,
  account: 'main',
  created_at: at(0),
  start_by: at(3_600),
  finish_by: at(7_200),
  started_at: at(1),
  completed_at: at(9),
  expires_at: at(99),
  due_at: at(99),
  deleted_at: null,
  attempts: [],
  timeline: [],
  output: null,
  warnings: [],
}

function terminalAt(seconds: number, said: string[] = []): Terminal {
  const fake = {
    canAsk: true,
    colour: { stdout: false, stderr: false },
    stdoutIsTerminal: false,
    now: () => Date.parse(at(seconds)),
    out: (text: string) => said.push(text),
    err: (text: string) => said.push(text),
    readKey: () => assert.fail('it asked'),
  }
  return fake as unknown as Terminal
}

it('without accounts, the process that responded is named: it may need none', async () => {
  const none = { object: 'list', data: [], missing: [], elsewhere: [], unused: [] }
  await using api = await startFakeApi((_, response) => send(response, 200, none))
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const { code, stdout, stderr } = await runCli(['accounts'], { env, cwd })
  assert.deepEqual([code, stdout], [0, ''])
  assert.match(stderr, /in the process that responded\.\n.*role api .* the workers have them/)
})

it('an account has one failure, its next try is never in the past, and a lack of credit is no wrong key', async () => {
  const account = (name: string, health: object) => ({
    name,
    source: 'config',
    mode: 'active',
    base_url: null,
    key_set: true,
    key_hint: null,
    provider: 'fal',
    recovery: 'none',
    concurrency: 1,
    on_unknown: 'hold',
    health: { state: 'paused', reason: null, paused_until: null, failures: 1, has_worked: false, ...health },
  })
  const past = { reason: 'unreachable', paused_until: new Date(Date.now() - 20_000).toISOString() }
  const refused = ['credit', 'key'].map((name) =>
    account(name, { reason: 'credentials', no_credit: name === 'credit' }),
  )
  const earlier = account('earlier', { reason: 'credentials' })
  const data = [account('one', {}), account('two', { failures: 2 }), account('late', past), ...refused, earlier]
  const list = { object: 'list', data, missing: [], elsewhere: [], unused: [] }
  await using api = await startFakeApi((_, response) => send(response, 200, list))
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const { stdout } = await runCli(['accounts'], { env, cwd })
  for (const text of [
    /^one .* 1 failure in a row$/m,
    /^two .* 2 failures in a row$/m,
    /^late .*; next try now$/m,
    /^credit .* it has no credit left; /m,
    /^key .* it rejects the key, or is not set up; /m,
    /^earlier .* it rejects the key, or has no credit left; /m,
  ])
    assert.match(stdout, text)
})

it('every command reports a server that does not respond like Filmgate', async () => {
  const id = task.id
  const commands = [
    ['task', 'show', id],
    ['task', 'list'],
    ['task', 'held'],
    ['task', 'orphans'],
    ['task', 'adopt', id, 'x'],
    ['task', 'resubmit', id, '--yes'],
    ['task', 'give-up', id, '-y', '--json'],
    ['accounts'],
    ['accounts', '--json'],
    ['accounts', 'resume', 'main'],
    ['account', 'list'],
    ['account', 'show', 'main'],
    ['account', 'add', 'main'],
    ['account', 'test', 'main'],
    ['account', 'drain', 'main', '--json'],
    ['account', 'remove', 'main'],
  ]
  const health = { state: 'ok', reason: null, paused_until: null, failures: 'none' }
  const answers: unknown[] = [
    {},
    [],
    null,
    { data: null },
    { data: [{}], has_more: false, missing: [] },
    { data: [], has_more: 0 },
    { ...task, prompt: 7 },
    { ...task, timeline: [{ at: 'soon', name: 'x' }] },
    { ...task, attempts: [null] },
    {
      data: [{ name: 'a', provider: 'b', recovery: 'key', concurrency: 1, on_unknown: 'hold', health }],
      missing: [],
      elsewhere: [],
    },
  ]
  let answer: unknown
  await using api = await startFakeApi((_, response) => send(response, 200, answer))
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  for (const [turn, one] of answers.entries()) {
    answer = one
    // Each answer to some of the commands, so that each command gets the emptiest and another.
    for (const args of turn === 0 ? commands : commands.filter((_, nth) => nth % 3 === turn % 3)) {
      const { code, stderr } = await runCli(args, { env, cwd })
      const what = `${args.join(' ')} of ${JSON.stringify(one)}`
      assert.match(stderr, /^filmgate: .+ did not respond like Filmgate\nIs the base URL right\?\n$/, what)
      assert.equal(code, 1)
    }
  }
})

it('a table may have as many rows as there are', () => {
  const rows = Array.from({ length: 200_000 }, (_, row) => String(row))
  const text = table(rows, [{ title: 'ROW', text: (row) => row }], { columns: null, paint: (_, word) => word })
  assert.equal(text.split('\n').length, rows.length + 2)
})

it('a task that is not held is refused before the question', async () => {
  let answer: object = task
  await using api = await startFakeApi((_, response) => send(response, 200, answer))
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const decide = (word: string) => command.run([word, task.id], { ...terminalAt(10), env })
  for (const word of ['give-up', 'resubmit'])
    await assert.rejects(decide(word), /' is completed, not held: there is noth/)
  answer = { ...task, state: 'held', deleted_at: at(3) }
  await assert.rejects(decide('give-up'), /' was deleted by its owner: there is nothing to decide/)
  assert.deepEqual([...new Set(api.requests)], [`GET /operator/v1/tasks/${task.id}`])
})

it('a decision is about the attempt that is waited for, not about the second operation of an earlier one', async () => {
  const attempt = {
    ...{ number: 2, account: 'main', upstream_model: 'fox', opened_at: at(1), settled_at: null },
    ...{ operation: null, problem: null, task: task.id, object: 'operator.attempt', key_version: 'k' },
  }
  const attempts = [
    { ...attempt, id: 'att_1', state: 'open' },
    { ...attempt, id: 'att_2', state: 'orphan' },
  ]
  const bodies: string[] = []
  await using api = await startFakeApi((_, response, body) => {
    bodies.push(body)
    return send(response, 200, { ...task, state: 'held', attempts })
  })
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  await command.run(['give-up', task.id], { ...terminalAt(10), env, readKey: async () => 'y' })
  assert.deepEqual(bodies, ['', '{"attempt":"att_1"}'])
})

it('lists tasks until it has enough, over pages that may be empty', async () => {
  const pages = [
    { object: 'list', data: [task], has_more: true, last_id: 'a' },
    { object: 'list', data: [], has_more: true, last_id: 'b' },
    { object: 'list', data: [{ ...task, id: 'video_1', state: 'failed', error: { code: 'timeout', message: 'x' } }] },
  ]
  let turn = 0
  const asked: (string | undefined)[] = []
  await using api = await startFakeApi((request, response) => {
    asked.push(request.url)
    return send(response, 200, { has_more: false, last_id: null, ...pages[turn++] })
  })
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const search = ['--owner', 'a b', '--error', 'timeout', '--since', '2026-11-15', '--deleted']
  const { code, stdout } = await runCli(['task', 'list', ...search], { env, cwd })
  assert.equal(code, 0)
  assert.match(stdout, /^ID +STATE .*\nvideo_0+ +completed .*a fox\nvideo_1 +failed .*timeout · a fox\n$/)
  const query = 'owner=a+b&error_code=timeout&created_since=2026-11-15T00%3A00%3A00.000Z&deleted=true'
  const rest = ['limit=20', 'limit=19&after=a', 'limit=19&after=b']
  assert.deepEqual(
    asked,
    rest.map((more) => `/operator/v1/tasks?${query}&${more}`),
  )
  for (const [args, message] of [
    [['--since', 'yesterday'], /--since yesterday: use 90m, 24h or 3d \(ago\), 2026-11-15, or /],
    [['--status', 'done'], /--status done: use one of queued, /],
    [['--limit', '1000'], /--limit 1000: use a number from 1 to 999/],
    [['--yes'], /task list does not accept --yes/],
  ] as const) {
    const refused = await runCli(['task', 'list', ...args], { env, cwd })
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, message)
  }
})

it('the end of an id is not enough, and says so before a server is asked', async () => {
  await using api = await startFakeApi()
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  for (const args of [
    ['show', '0b9e63'],
    ['adopt', '0B9E63', 'x'],
    ['give-up', '0b9e63', '--yes'],
  ]) {
    const { code, stderr } = await runCli(['task', ...args], { env, cwd })
    assert.equal(code, 2)
    assert.match(stderr, /'0b9e63' is the end of an id; use the whole id\n.*\n {2}filmgate task list --limit 999\n/i)
  }
  assert.deepEqual(api.requests, [])
})

it('an id that would lead to another route is refused before a server is asked', async () => {
  await using api = await startFakeApi()
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  for (const [args, message] of [
    [['show', '..'], /'\.\.' is not an id\n/],
    [['give-up', '', '--yes'], /the id is empty\n/],
    [['adopt', task.id, ''], /the operation is empty\n/],
  ] as const) {
    const { code, stderr } = await runCli(['task', ...args], { env, cwd })
    assert.equal(code, 2)
    assert.match(stderr, message)
  }
  assert.deepEqual(api.requests, [])
})

describe('a task that is shown', () => {
  const problem = { code: 'storage_unavailable', message: 'The service cannot store anything. (ENOSPC)', tries: 3 }
  const shown = (change: Partial<ShownTask>) => showTask({ ...task, ...change }, terminalAt(10)).split('\n\n')[0] ?? ''

  it('has what was requested, what was generated, and how that differs', () => {
    const output = { width: 64, height: 36, duration: 1.041667, frame_rate: 23.976, codec: 'h264', bytes: 1_740 }
    const text = shown({ output, warnings: ['`seconds` was 4; the provider generated 1.04 s.'] })
    assert.match(
      text,
      /\nrequested +4 s, 1280x720\noutput +1\.04 s, 64x36, 23\.98 fps, h264, 1\.7 kB\nwarning +`seconds` was 4/,
    )
    for (const older of [{ output: null, warnings: [] }, { output: undefined, warnings: undefined }, { output: 7 }])
      assert.doesNotMatch(shown(older), /output|warning/)
  })

  it('has when it expires, or when it expired', () => {
    assert.match(shown({}), /\nexpires +in 89 s \(/)
    assert.match(shown({ expires_at: at(6) }), /\nexpired +4 s ago \(/)
    assert.doesNotMatch(shown({ expires_at: null }), /expire/)
  })

  it('has its last problem, with the cause, and when the next try is due', () => {
    const begun = { status: 'in_progress', completed_at: null, due_at: at(40) }
    const timeline = [
      { at: at(1), name: 'running', detail: null },
      { at: at(2), name: 'poll met a problem', detail: { code: 'provider_unavailable', message: 'an older one' } },
      { at: at(3), name: 'storing', detail: null },
      { at: at(4), name: 'collect met a problem', detail: problem },
    ]
    const storing = shown({ ...begun, state: 'storing', timeline })
    assert.match(storing, /\nproblem +The service cannot store anything\. \(ENOSPC\) \(storage_unavailable\)\n/)
    assert.match(storing, /\nnext try +in 30 s \(20\S+Z\)\n/)
    assert.match(shown({ ...begun, state: 'storing', timeline, due_at: at(-10) }), /\nnext try +now \(20\S+Z\)\n/)
    const smooth = shown({ ...begun, state: 'storing', timeline: timeline.slice(0, 3) })
    assert.doesNotMatch(smooth, /problem|an older one/)
    assert.match(smooth, /\nnext step +in 30 s /)
    const refused = [
      { at: at(2), name: 'attempt refused: busy', detail: 'too many requests' },
      { at: at(2), name: 'queued', detail: null },
    ]
    const queued = shown({ ...begun, state: 'queued', status: 'queued', started_at: null, timeline: refused })
    assert.match(queued, /\nproblem +too many requests \(attempt refused: busy\)\n/)
  })

  it('has the commands that decide about it while it is held', () => {
    const commandsOf = (change: Partial<ShownTask>, env = {}) =>
      showTask({ ...task, ...change }, { ...terminalAt(10), env }).match(/^ {2}.*filmgate task \S+ \S+/gm) ?? []
    assert.deepEqual(
      commandsOf({ state: 'held', status: 'in_progress' }, { npm_command: 'exec' }),
      ['adopt', 'resubmit', 'give-up'].map((word) => `  npx filmgate task ${word} ${task.id}`),
    )
    // The time begins with the attempt: `searchUntil` of core/timing.ts.
    const held = showTask({ ...task, state: 'held' }, { ...terminalAt(10), env: {} })
    assert.match(held, / it fails, at the latest 30 minutes after it was sent\.\n/)
    assert.deepEqual(commandsOf({}), [])
    assert.deepEqual(commandsOf({ state: 'held', deleted_at: at(3) }), [])
  })

  it('has when it failed, and of what', () => {
    const error = { code: 'storage_unavailable', message: 'The service cannot store anything.' }
    const timeline = [
      { at: at(7), name: 'collect met a problem', detail: problem },
      { at: at(7), name: 'failed', detail: error },
    ]
    const text = shown({ state: 'failed', status: 'failed', completed_at: null, error, timeline })
    assert.match(text, /\nerror +The service cannot store anything\. \(ENOSPC\) \(storage_unavailable\)\n/)
    assert.match(text, new RegExp(`\\nfailed +3 s ago \\(${at(7)}\\)\\n`))
    assert.doesNotMatch(text, /next|problem/)
    const bare = shown({ state: 'failed', status: 'failed', error, timeline: timeline.slice(1) })
    assert.match(bare, /\nerror +The service cannot store anything\. \(storage_unavailable\)\n/)
  })
})

it('task show has the money of a task after its timeline, entry by entry, and nothing of a free one', () => {
  const entry = (step: string, account: string, amount: number, seconds: number) => ({
    step,
    account,
    amount,
    currency: 'USD',
    at: at(seconds),
  })
  const posted = [
    entry('reserve', 'funds shop', -0.5, 0),
    entry('reserve', 'reserved shop', 0.5, 0),
    entry('close', 'revenue shop', 0.42, 9),
  ]
  const shown = showTask({ ...task, entries: posted }, terminalAt(10))
  assert.match(
    shown,
    /EVENT[\s\S]*TIME +STEP +ACCOUNT +AMOUNT\n\+0:00\.000 +reserve +funds shop +-0\.5 USD\n.*reserved shop +0\.5 USD\n\+0:09\.000 +close +revenue shop +0\.42 USD\n/,
  )
  for (const none of [[], undefined, 'no list', [{ amount: 'much' }]])
    assert.doesNotMatch(showTask({ ...task, entries: none }, terminalAt(10)), /AMOUNT/)
})
