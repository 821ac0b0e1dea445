import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { operatorToken, startService, type TestService, token, until } from './service.ts'
import { startReceiver } from './webhook-world.ts'

/* The usage, cost and revenue of ended videos, as clients and operators see it. */

const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' } as const
const prices =
  'prices: { models: { studio: { price: [{ unit: second, price: "0.50" }], cost: [{ unit: second, price: "0.20" }] } } }'

const as = (secret: string) => ({ authorization: `Bearer ${secret}` })

interface Group {
  token?: string
  token_name?: string | null
  tasks: number
  completed: number
  cancelled: number
  success_rate: number | null
  seconds: number
  priced_seconds: number
  cost: number
  revenue?: number
  currency: string | null
  p50_ms: number | null
  p95_ms: number | null
}

interface Report {
  object: string
  group_by: string[]
  data: Group[]
}

interface Refused {
  error: { code: string; param: string; message: string }
}

let service: TestService
/** Two tokens of one project. The name of the second begins like a formula. */
let anna: { id: string; secret: string }
let ben: { id: string; secret: string }

async function createToken(name: string): Promise<{ id: string; secret: string }> {
  const headers = { ...as(operatorToken), 'content-type': 'application/json' }
  const body = JSON.stringify({ name, project: 'shop' })
  const response = await service.fetch('/operator/v1/tokens', { method: 'POST', headers, body })
  return (await response.json()) as { id: string; secret: string }
}

async function complete(secret: string): Promise<void> {
  const { id } = (await (await service.submit(film, as(secret))).json()) as { id: string }
  const path = `/v1/videos/${id}?wait=60&until=done`
  for (let status = ''; status !== 'completed'; ) {
    const video = (await (await service.fetch(path, { headers: as(secret) })).json()) as { status: string }
    assert.notEqual(video.status, 'failed')
    status = video.status
  }
}

async function cancel(secret: string): Promise<void> {
  const long = { ...film, seconds: '20', size: '1920x1080' }
  const { id } = (await (await service.submit(long, as(secret))).json()) as { id: string }
  const deleted = await service.fetch(`/v1/videos/${id}`, { method: 'DELETE', headers: as(secret) })
  assert.equal(deleted.status, 200)
}

before(async () => {
  service = await startService({ yaml: prices, env: { FILMGATE_OPERATOR_TOKEN: operatorToken } })
  anna = await createToken('anna')
  ben = await createToken('=1+1')
  for (const secret of [token, anna.secret, ben.secret]) await complete(secret)
  await cancel(ben.secret)
})
after(() => service[Symbol.asyncDispose]())

const operatorReport = (query: string) => service.operator<Report>(`/usage?${query}`)

async function clientReport(secret: string, query = ''): Promise<Report> {
  const response = await service.fetch(`/v1/usage?${query}`, { headers: as(secret) })
  assert.equal(response.status, 200)
  return (await response.json()) as Report
}

it('operators see tasks, cost and revenue by token, with its name', async () => {
  const { object, group_by: by, data } = await operatorReport('group_by=token')
  assert.deepEqual([object, by], ['operator.usage', ['token']])
  const shown = new Map(data.map((group) => [group.token, group]))
  assert.deepEqual([...shown.keys()].sort(), ['config:default', anna.id, ben.id].sort())
  const own = shown.get(anna.id)
  assert.ok(own)
  const { p50_ms: p50, p95_ms: p95, ...counts } = own
  assert.ok(p50 !== null && p50 > 0 && p50 === p95, 'one task has one duration')
  assert.deepEqual(counts, {
    ...{ token: anna.id, token_name: 'anna', tasks: 1, completed: 1, failed: 0, cancelled: 0 },
    ...{ success_rate: 1, seconds: 1, priced_seconds: 1, cost: 0.2, revenue: 0.5, currency: 'USD' },
  })
  const { tasks, completed, cancelled, success_rate: rate, revenue } = shown.get(ben.id) ?? ({} as Group)
  assert.deepEqual([tasks, completed, cancelled, rate, revenue], [2, 1, 1, 1, 0.5])
})

it('groups by several fields, and filters by each', async () => {
  const { data } = await operatorReport('group_by=project,model,account,day&model=studio')
  const days = new Set(data.map((group) => (group as unknown as { day: string }).day))
  assert.ok(days.size === 1 || days.size === 2, 'the test may run at midnight')
  for (const day of days) assert.match(day, /^\d{4}-\d\d-\d\d$/)
  const sum = async (query: string) => (await operatorReport(query)).data.reduce((all, { tasks }) => all + tasks, 0)
  for (const [query, tasks] of [
    ['', 4],
    ['project=shop', 3],
    [`token=${anna.id}`, 1],
    ['project=shop&token=config:default', 0],
    ['model=sora', 0],
    [`account=studio&token=${anna.id}`, 1],
    ['account=other', 0],
    ['error_code=content_policy', 0],
    ['since=2026-01-01&before=2026-01-02', 0],
    [`since=${Math.floor(Date.now() / 1000) - 600}`, 4],
  ] as const)
    assert.equal(await sum(query), tasks, query)
  const byError = (await operatorReport('group_by=error_code')).data as unknown as { error_code: string | null }[]
  assert.deepEqual(
    byError.map(({ error_code: code }) => code),
    [null],
  )
})

it('a client sees its own project, what it pays, and neither accounts nor the cost of the operator', async () => {
  const { object, data } = await clientReport(anna.secret, 'group_by=token')
  assert.equal(object, 'usage')
  assert.deepEqual(
    data.map((group) => [group.token, group.cost, group.currency]).sort(),
    [
      [anna.id, 0.5, 'USD'],
      [ben.id, 0.5, 'USD'],
    ].sort(),
  )
  const [own, ...others] = (await clientReport(token)).data
  assert.deepEqual([own?.tasks, own?.cost, others], [1, 0.5, []])
  assert.ok(own && !('revenue' in own) && !('account' in own) && !('token_name' in own))
})

it('operators see which token created a task, and find its tasks', async () => {
  const { data } = await service.operator<{ data: { owner: string; token: string }[] }>('/tasks?owner=shop')
  assert.deepEqual([...new Set(data.map((task) => task.token))].sort(), [anna.id, ben.id].sort())
  const own = await service.operator<{ data: { token: string }[] }>(`/tasks?token=${anna.id}`)
  assert.deepEqual(
    own.data.map((task) => task.token),
    [anna.id],
  )
})

it('CSV has a header, and no cell that a spreadsheet would run', async () => {
  const read = async (path: string, secret: string) => {
    const response = await service.fetch(path, { headers: as(secret) })
    assert.match(response.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/)
    return (await response.text()).split('\r\n')
  }
  const [header, ...lines] = await read('/operator/v1/usage?group_by=token&format=csv', operatorToken)
  const counts = 'tasks,completed,failed,cancelled,success_rate,seconds'
  assert.equal(header, `token,token_name,${counts},cost,revenue,currency,p50_ms,p95_ms,priced_seconds`)
  assert.equal(lines.length, 4, 'three groups, and the end of the last line')
  assert.ok(
    lines.some((line) => line.startsWith(`${ben.id},'=1+1,2,1,0,1,1,1,`)),
    lines.join('\n'),
  )
  const own = await read('/v1/usage?format=csv', token)
  assert.equal(own[0], `model,${counts},cost,currency,p50_ms,p95_ms,priced_seconds`)
  assert.match(own[1] ?? '', /^studio,1,1,0,0,1,1,0\.5,USD,\d+,\d+,1$/)
})

it('refuses what it can not answer, with the field and the fix', async () => {
  for (const [query, param, message] of [
    [
      'group_by=colour',
      'group_by',
      /^`group_by` has 'colour'\. Allowed: token, project, model, account, error_code, day, hour;/,
    ],
    ['group_by=', 'group_by', /^`group_by` has ''\. Allowed: /],
    ['since=yesterday', 'since', /^`since` is 'yesterday'\. Expected a time such as 2026-11-15 .*, or Unix seconds\.$/],
    ['since=2026-02-01&before=2026-01-01', 'since', /^`since` is not before `before`\./],
    ['since=2025-01-01&before=2026-06-01', 'since', /longer than 400 days\. Send a later `since`\.$/],
    ['group_by=hour&since=2026-01-01&before=2026-03-01', 'since', /longer than 31 days.* or group by `day`\.$/],
    ['project=a%00b', 'project', /^`project` has a NUL character\. Remove it\.$/],
    ['format=xml', 'format', /^`format` is 'xml'\. Allowed: 'json', 'csv'\.$/],
    ['colour=red', 'colour', /^Unknown parameter: 'colour'\. This request accepts: group_by, since, /],
  ] as const) {
    const response = await service.fetch(`/operator/v1/usage?${query}`, { headers: as(operatorToken) })
    const { error } = (await response.json()) as Refused
    assert.deepEqual([response.status, error.param], [400, param], query)
    assert.match(error.message, message)
  }
  const response = await service.fetch('/v1/usage?group_by=account')
  assert.match(((await response.json()) as Refused).error.message, /Allowed: token, model, error_code, day, hour;/)
})

interface Event {
  specversion: string
  type: string
  id: string
  source: string
  subject: string
  time: string
  data: Record<string, unknown>
}

it('the usage webhook gets each ended video as a CloudEvent, with the token of the operator', async () => {
  await using receiver = await startReceiver()
  let isDown = true
  receiver.handle = (_, response) => void response.writeHead(isDown ? 503 : 204).end()
  const env = {
    FILMGATE_USAGE_WEBHOOK: `${receiver.url}/api/v1/events`,
    FILMGATE_USAGE_WEBHOOK_TOKEN: 'the token of the meter',
  }
  await using metered = await startService({ yaml: prices, env })
  const { id } = (await (await metered.submit(film)).json()) as { id: string }
  await metered.finish(id)
  await until('it was refused', () => receiver.all.length > 0)
  isDown = false
  await until('it was sent again', () => receiver.all.length > 1)
  const { headers, path, body } = receiver.all.at(-1) ?? assert.fail()
  assert.deepEqual([path, headers.authorization], ['/api/v1/events', 'Bearer the token of the meter'])
  assert.equal(headers['content-type'], 'application/cloudevents-batch+json')
  const [event, ...others] = JSON.parse(body) as Event[]
  assert.ok(event)
  assert.deepEqual(others, [])
  const { time, data, ...about } = event
  assert.ok(!Number.isNaN(Date.parse(time)))
  assert.deepEqual(about, {
    specversion: '1.0',
    type: 'filmgate.video',
    id: `${id}:completed`,
    source: 'filmgate',
    subject: 'default',
    datacontenttype: 'application/json',
  })
  const { took_ms: tookMs, ...counted } = data
  assert.ok(Number(tookMs) > 0)
  assert.deepEqual(counted, {
    task: id,
    token: 'config:default',
    model: 'studio',
    account: 'studio',
    outcome: 'completed',
    error_code: null,
    seconds: 1,
    cost: 0.2,
    revenue: 0.5,
    currency: 'USD',
  })
  assert.ok(metered.log.some((line) => line.includes('usage events could not be sent')))
  assert.ok(!metered.log.join('').includes('the token of the meter'))
})
