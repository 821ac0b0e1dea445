import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { alarmKinds, describeAlarm } from '../core/alarms.ts'
import { runCli, send, startFakeApi } from './cli.fixture.ts'
import { widthOf } from './screen/text.ts'
import { showStatus } from './status.ts'
import type { Terminal } from './terminal.ts'

/* `filmgate status` and `filmgate alarm`, with a fake server. test/alarms.test.ts has the whole service. */

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-status-'))
after(() => rmSync(cwd, { recursive: true }))

const now = 1_800_000_000_000
const at = (ms: number) => new Date(now + ms).toISOString()

const alarm = describeAlarm({
  ...{ id: `alarm_${'0'.repeat(28)}`, kind: 'account_credit', subject: 'kling-main', details: {}, count: 3 },
  ...{ raisedAt: now - 300_000, lastSeen: now, acknowledgedBy: null, acknowledgedAt: null, clearedAt: null },
})

const status = {
  object: 'operator.status',
  version: '1.2.3',
  at: at(0),
  health: { status: 'ok', reason: null, store: 'ok', bucket: 'ok' },
  store: 'postgres',
  bucket: 's3',
  stored_bytes: 1_500_000_000,
  bucket_limit: 500_000_000_000,
  processes: [
    { name: 'a1b2', last_seen: at(0), responded: true },
    { name: 'c3d4', last_seen: at(-5_000), responded: false },
  ],
  tasks: { fetching: 0, queued: 12, held: 1, running: 4, storing: 2 },
  queues: [{ model: 'kling-3.0', oldest_at: at(-1_200_000), age_seconds: 1_200 }],
  accounts: [
    {
      name: 'kling-main',
      provider: 'kling',
      mode: 'active',
      health: {
        state: 'paused',
        reason: 'credentials',
        no_credit: true,
        paused_until: at(180_000),
        failures: 1,
        has_worked: false,
      },
      slots: 4,
      used_slots: 3,
    },
  ],
  alarms: [alarm],
}

function shown(change: object, columns = 80): string {
  const terminal = { colour: { stdout: false }, stdoutIsTerminal: true, size: () => ({ columns, rows: 24 }) }
  return showStatus({ ...status, ...change } as Parameters<typeof showStatus>[0], terminal as unknown as Terminal)
}

it('shows the whole service on a screen of 80 columns', () => {
  const text = shown({})
  for (const part of [
    /filmgate +1\.2\.3\n/,
    /health +ready\n/,
    /processes +2, c3d4 \(5 s ago\)\n/,
    /database +postgres, ok\n/,
    /bucket +s3, ok, 1\.5 GB of 500 GB\n/,
    /tasks +0 fetching, 12 queued, 1 held, 4 running, 2 storing\n/,
    /oldest +kling-3\.0 20 min\n/,
    /kling-main +paused +3\/4 +kling +no credit; next try in 3 min\n/,
    /critical account_credit: kling-main, 5 min ago\n {2}Add credit at the provider/,
  ])
    assert.match(text, part)
  assert.match(shown({ alarms: [] }), /No alarm is active\.\n$/)
})

it('no line is wider than the screen, whatever the names and the reasons are', () => {
  const long = 'x'.repeat(300)
  const hostile = {
    health: { status: 'unavailable', reason: `${'word '.repeat(60)}`.trim(), store: 'full', bucket: 'unavailable' },
    processes: Array.from({ length: 40 }, (_, number) => ({ name: `p${number}`, last_seen: at(0), responded: false })),
    accounts: [{ ...status.accounts[0], name: long }],
    alarms: Object.keys(alarmKinds).map((kind) => ({ ...alarm, kind, subject: `${long}\u001b[31m` })),
  }
  for (const columns of [80, 120])
    for (const line of shown(hostile, columns).split('\n')) assert.ok(widthOf(line) <= columns, `${columns}: ${line}`)
  assert.ok(!shown(hostile).includes('\u001b'))
})

it('what the database does not tell is unknown', () => {
  const accounts = [{ ...status.accounts[0], used_slots: null }]
  const text = shown({ tasks: null, stored_bytes: null, queues: [], accounts })
  assert.match(text, /tasks +unknown\noldest +unknown\n/)
  assert.match(text, /processes +2, c3d4 \(5 s ago\), others unknown\n/)
  assert.match(text, /The database can't be read: other alarms may be active\.\n$/)
  assert.doesNotMatch(shown({ tasks: null, alarms: [] }), /No alarm/)
  assert.match(text, /bucket +s3, ok\n/)
  assert.match(text, /\?\/4/)
})

it('the exit code says whether someone has to act', async () => {
  const answers: object[] = [status, { ...status, alarms: [{ ...alarm, severity: 'warning' }] }]
  await using api = await startFakeApi((_, response) => send(response, 200, answers.shift() ?? status))
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const [acute, calm, json] = [
    await runCli(['status'], { env, cwd }),
    await runCli(['status'], { env, cwd }),
    await runCli(['status', '--json'], { env, cwd }),
  ]
  assert.deepEqual([acute.code, calm.code, json.code], [1, 0, 1])
  assert.deepEqual(JSON.parse(json.stdout), status)
})

it('alarms are listed with their first aid, and acknowledged by id', async () => {
  const asked: string[] = []
  await using api = await startFakeApi((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const list = { object: 'list', data: [alarm], first_id: alarm.id, last_id: alarm.id, has_more: true }
    return send(response, 200, request.method === 'GET' ? list : { ...alarm, acknowledged_by: 'anna' })
  })
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const list = await runCli(['alarm', 'list', '--status', 'all'], { env, cwd })
  assert.match(list.stdout, /critical +account_credit +kling-main .*Add credit at the provider/)
  assert.match(list.stderr, /There are more/)
  const acknowledged = await runCli(['alarm', 'acknowledge', alarm.id], { env, cwd })
  assert.equal(acknowledged.stdout, 'account_credit of kling-main is acknowledged by anna\n')
  assert.deepEqual(asked, [
    'GET /operator/v1/alarms?status=all&limit=20',
    `POST /operator/v1/alarms/${alarm.id}/acknowledge`,
  ])
  const wrong = await runCli(['alarm', 'list', '--status', 'odd'], { env, cwd })
  assert.deepEqual([wrong.code, /use active, cleared or all/.test(wrong.stderr)], [2, true])
})

it('an alarm is acknowledged by the end of its id, if that is the end of one', async () => {
  const idOf = (end: string) => `alarm_${end.padStart(28, '0')}`
  const pages: Record<string, string[]> = {
    'status=active&limit=100': ['aa1111', 'bb2222'],
    [`status=active&limit=100&after=${idOf('bb2222')}`]: ['cc2222'],
    'status=cleared&limit=100': ['dd3333'],
  }
  const acknowledged: string[] = []
  await using api = await startFakeApi((request, response) => {
    const { pathname, search } = new URL(request.url ?? '', 'http://localhost')
    if (request.method === 'GET') {
      const data = (pages[search.slice(1)] ?? []).map((end) => ({ ...alarm, id: idOf(end) }))
      return send(response, 200, { object: 'list', data, has_more: data.length === 2 })
    }
    acknowledged.push(pathname.split('/').at(-2) ?? '')
    return send(response, 200, { ...alarm, acknowledged_by: 'anna' })
  })
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'x' }
  const acknowledge = (id: string) => runCli(['alarm', 'acknowledge', id], { env, cwd })
  for (const end of ['1111', 'CC2222', 'dd3333', '9999']) assert.equal((await acknowledge(end)).code, 0)
  assert.deepEqual(acknowledged, [idOf('aa1111'), idOf('cc2222'), idOf('dd3333'), '9999'])
  const several = await acknowledge('2222')
  assert.deepEqual([several.code, /the end of several ids: .*bb2222, .*cc2222/.test(several.stderr)], [1, true])
  const short = await acknowledge('111')
  assert.deepEqual([short.code, /give 4 or more characters/.test(short.stderr)], [2, true])
  assert.equal(acknowledged.length, 4)
})
