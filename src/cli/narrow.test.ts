import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeAlarm } from '../core/alarms.ts'
import { command as alarms } from './alarm.ts'
import { addTask, send, startFakeApi } from './cli.fixture.ts'
import { command as models } from './models.ts'
import { widthOf, wrap } from './screen/text.ts'
import { command as tasks } from './task.ts'
import { openTerminal } from './terminal.ts'
import { command as usage } from './usage.ts'
import { list } from './videos.ts'

/** What a command prints on a terminal of 40 columns, or others. */
async function printed(command: typeof list, url: string, args: string[] = [], columns = 40): Promise<string[]> {
  let output = ''
  const terminal = {
    ...openTerminal(),
    stdoutIsTerminal: true,
    colour: { stdout: false, stderr: false },
    size: () => ({ columns, rows: 24 }),
    out(text: string) {
      output += text
    },
  }
  assert.equal(await command.run([...args, '--base-url', url, '--token', 'fg'], terminal), 0)
  return output.trimEnd().split('\n')
}

it('a list of running videos fits', async () => {
  await using api = await startFakeApi()
  const task = addTask(api, '{"prompt": "a red fox in snow at dusk", "model": "studio"}')
  Object.assign(task, { status: 'in_progress', progress: 100, created_at: Date.now() / 1000 - 3_000 })
  const lines = await printed(list, api.url)
  for (const line of lines) assert.ok(widthOf(line) <= 40, line)
  assert.match(lines[1] ?? '', /^000000 +drawing 100% +a red fox in/)
})

it('a table of models leaves out what is long before it cuts a size', async () => {
  const size = { min_side: 256, max_side: 1920, default: '1280x720' }
  const studio = {
    id: 'studio',
    seconds: { min: 1, max: 20, default: 4 },
    size,
    image: 'optional',
    owned_by: 'filmgate',
  }
  await using api = await startFakeApi((_, response) => send(response, 200, { object: 'list', data: [studio] }))
  const lines = await printed(models, api.url)
  for (const line of lines) assert.ok(widthOf(line) <= 40, line)
  assert.match(lines[1] ?? '', /^studio +1–20 \(4\) +256–1920 \(1280x720\)$/)
})

const at = '2026-11-18T00:55:31.054Z'
const attempt = `att_${'0'.repeat(36)}`
const task = {
  id: `video_${'0'.repeat(48)}`,
  owner: 'shop',
  model: 'kling-3.0',
  card: 'kling-3.0',
  prompt: 'a very long prompt that goes on and on about a red fox in the snow at dusk, and its end',
  seconds: '5',
  size: '1280x720',
  state: 'completed',
  status: 'completed',
  progress: 100,
  error: null,
  account: 'kling',
  created_at: at,
  start_by: at,
  finish_by: at,
  started_at: at,
  completed_at: at,
  expires_at: at,
  due_at: at,
  deleted_at: null,
  attempts: [
    {
      id: attempt,
      object: 'operator.attempt',
      task: `video_${'0'.repeat(48)}`,
      number: 1,
      account: 'kling',
      upstream_model: 'kling-3.0',
      operation: { id: '927285367107179818' },
      key_version: 'a1b2',
      state: 'accepted',
      opened_at: at,
      settled_at: at,
      problem: null,
    },
  ],
  timeline: [
    { at, name: 'attempt opened', detail: { attempt, number: 1, account: 'kling', model: 'kling-3.0' } },
    {
      at,
      name: 'poll met a problem',
      detail: { code: 'provider_unavailable', message: 'it can’t be reached', tries: 1 },
    },
    {
      at,
      name: 'poll met a problem',
      detail: { code: 'provider_unavailable', message: 'it can’t be reached', tries: 2 },
    },
    { at, name: 'warning', detail: '`seconds` was 5; the provider generated 1 s.' },
  ],
  warnings: ['`seconds` was 5; the provider generated 1 s.'],
  entries: [
    { step: 'reserve', account: 'funds shop', amount: -0.42, currency: 'USD', at },
    { step: `cost ${attempt}`, account: 'cost kling', amount: 0.42, currency: 'USD', at },
  ],
}

it('a list of tasks has whole ids on 80 columns, and the rest below each', async () => {
  const page = { object: 'list', data: [task], has_more: false, last_id: task.id }
  await using api = await startFakeApi((_, response) => send(response, 200, page))
  const lines = await printed(tasks, api.url, ['list'], 80)
  for (const line of lines) assert.ok(widthOf(line) <= 80, line)
  assert.match(lines[1] ?? '', new RegExp(`^${task.id}  completed  `))
  assert.match(lines[2] ?? '', /^ {2}shop · kling-3\.0 · kling · a very long prompt .*…$/)
})

it('a task fits into 80 columns with its whole prompt, and says nothing twice', async () => {
  await using api = await startFakeApi((_, response) => send(response, 200, task))
  const lines = await printed(tasks, api.url, ['show', task.id], 80)
  for (const line of lines) assert.ok(widthOf(line) <= 80, line)
  const text = lines.join('\n')
  assert.match(text, /\nprompt +a very long .*\n +.*and its end\n/)
  assert.match(text, /\n1 {2}att_0+ +accepted +kling +\+0:00\.000\n {2}kling-3\.0 · .*927285367107179818/)
  assert.match(text, /attempt opened +#1, account kling, model kling-3\.0\n/)
  assert.match(text, /poll met a problem {2}code provider_unavailable, message it can’t be\n.* tries 2, 2 times/)
  assert.match(text, /\n\S+ +cost #1 +cost kling +0\.42 USD/)
  assert.equal(text.match(/generated 1 s/g)?.length, 1)
  assert.equal(text.match(/att_/g)?.length, 1)
})

it('an alarm has its severity, its whole first aid and its whole id on 80 columns', async () => {
  const [raisedAt, id] = [Date.now() - 300_000, `alarm_${'0'.repeat(28)}`]
  const times = { raisedAt, lastSeen: raisedAt, acknowledgedAt: raisedAt, clearedAt: raisedAt }
  const details = { kind: 'account_key', subject: 'kling-main', details: {}, count: 1, acknowledgedBy: 'anna' } as const
  const data = [describeAlarm({ id, ...details, ...times })]
  const page = { object: 'list', data, first_id: id, last_id: id, has_more: false }
  await using api = await startFakeApi((_, response) => send(response, 200, page))
  assert.deepEqual(await printed(alarms, api.url, ['list'], 80), [
    'critical account_key: kling-main, 5 min ago, cleared 5 min ago, seen by anna',
    '  Check the key with `filmgate account test kling-main`, replace it, then',
    '  `filmgate account resume kling-main`.',
    `  ${id}`,
  ])
  for (const line of await printed(alarms, api.url, ['list'])) assert.ok(widthOf(line) <= 40, line)
})

it('a report of usage by project has whole ids on 80 columns', async () => {
  const counts = { tasks: 4, completed: 2, failed: 1, cancelled: 1, success_rate: 0.6667, seconds: 8 }
  const money = { cost: 1234.123456, revenue: 1234.123456, currency: 'USD', p50_ms: 12_300, p95_ms: 180_000 }
  const group = { project: 'tok_mwletefj4qwn', day: '2026-11-18', ...counts, ...money }
  const report = { object: 'operator.usage', group_by: ['project', 'day'], data: [group] }
  await using api = await startFakeApi((_, response) => send(response, 200, report))
  const lines = await printed(usage, api.url, [], 80)
  for (const line of lines) assert.ok(widthOf(line) <= 80, line)
  assert.match(lines[1] ?? '', /^tok_mwletefj4qwn {2}2026-11-18 {2}.* 1234\.123456 USD/)
})

it('long messages are broken at spaces, and an id stays whole', () => {
  assert.deepEqual(wrap('one two three video_0000000000 four', 9), ['one two', 'three', 'video_0000000000', 'four'])
})
