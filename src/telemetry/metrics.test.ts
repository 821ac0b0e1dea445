import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AccountView } from '../core/account.ts'
import { buildCatalog, type ModelCard, removeModel } from '../core/catalog.ts'
import type { Figures } from '../core/figures.ts'
import { healthy } from '../core/health.ts'
import type { Task } from '../core/task.ts'
import { newTask } from '../stores/contract/world.ts'
import { type Family, families } from './families.ts'
import { shareReads } from './figures.ts'
import { openMetrics } from './metrics.ts'

const nothing: Figures = {
  queues: [],
  fetching: 0,
  work: [],
  slots: [],
  open: [],
  orphans: [],
  abandoned: [],
  pendingDeliveries: 0,
}
const build = { version: '1.2.3', node: '24.0.0', store: 'sqlite', bucket: 'disk', role: 'all' }

function accountOf(name: string, fields: Partial<AccountView> = {}): AccountView {
  const provider = { name: 'kling', recovery: 'none' } as const
  return { name, provider, concurrency: 5, onUnknown: 'hold', keyVersion: '', health: healthy, ...fields }
}

/** Metrics of two models and two accounts. */
function openWorld(read: () => Promise<Figures> = async () => nothing, refresh = async () => {}) {
  const catalog = buildCatalog(
    ['fast', 'slow'].map((id) => ({ id }) as ModelCard),
    { quick: 'fast' },
    null,
  )
  const accounts = new Map(['kling', 'studio@0123'].map((name) => [name, accountOf(name)]))
  const time = { now: 1_000_000, monotonic: 0 }
  /** The end of the sleeps that begin now. */
  const late = { end: Promise.withResolvers<void>() }
  const metrics = openMetrics({
    ...{ catalog, currencies: ['CHF'], build },
    ...{ now: () => time.now, monotonic: () => time.monotonic, sleep: () => late.end.promise },
  })
  const children = () => [{ job: 'verify' }, { job: null }]
  const alarms = (kind: string) => Number(kind === 'disk_low')
  const connections = () => ({ total: 3, idle: 1, awaited: 2 })
  const figures = shareReads(read, () => time.now)
  metrics.follow({ accounts, refresh, figures, alarms, children, connections })
  return {
    ...{ metrics, catalog, accounts, time, late },
    text: () => metrics.render('text'),
    [Symbol.dispose]: () => metrics[Symbol.dispose](),
  }
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
const seriesIn = (text: string) => linesOf(text).map((line) => line.slice(0, line.lastIndexOf(' ')))
const typesIn = (text: string) => [...text.matchAll(/^# TYPE (\w+ \w+)$/gm)].map(([, type]) => type)

function ended(task: Task, fields: Partial<Task> = {}): Task {
  return { ...task, state: 'failed', error: { code: 'internal', message: 'no' }, ...fields }
}

it('has every family of the table once, and no other', async () => {
  using world = openWorld()
  const expected = Object.values<Family>(families).map(({ name, type }) => `${name} ${type}`)
  assert.deepEqual(typesIn(await world.text()).toSorted(), expected.toSorted())
})

it('no text of a family needs to be escaped: each format has rules of its own for that', () => {
  for (const { name, help } of Object.values<Family>(families)) assert.doesNotMatch(help, /["\\\n|]/, name)
})

it('10 000 tokens and 10 000 hostile model names add no series', async () => {
  using world = openWorld()
  const { metrics } = world
  const use = (name: string, at: number) => {
    const who = { owner: `owner ${name}`, token: `tok_${at}`, account: name }
    const task = newTask(String(at), { ...who, card: name, model: name })
    metrics.tasks.created(name)
    metrics.tasks.opened(name)
    metrics.tasks.decided(task, { task: { ...task, state: 'running', startedAt: 2 } })
    metrics.tasks.decided(task, { task: ended(task) })
    metrics.requests.end(undefined, `METHOD${at}`, 404, 0.001)
    metrics.work.upstream(name, 'fetch').end('200')
    metrics.work.downloaded(name, 1, 1)
  }
  use('unknown', 0)
  const before = seriesIn(await world.text())
  for (let at = 1; at <= 10_000; at += 1) use(`x${at}"} 1\n\\é`, at)
  assert.deepEqual(seriesIn(await world.text()), before)
})

it('labels are own names of models, and accounts of this process without the name of the process', async () => {
  using world = openWorld()
  const { metrics } = world
  metrics.tasks.created('quick')
  metrics.tasks.created('fast')
  metrics.tasks.opened('studio@0123')
  metrics.tasks.opened('studio@4567')
  const lines = linesOf(await world.text())
  for (const line of [
    'filmgate_tasks_created_total{model="other"} 1',
    'filmgate_tasks_created_total{model="fast"} 1',
    'filmgate_attempts_total{account="studio",outcome="opened"} 1',
    'filmgate_attempts_total{account="other",outcome="opened"} 1',
  ])
    assert.ok(lines.includes(line), line)
})

it('the series of a removed model and of a removed account disappear', async () => {
  using world = openWorld()
  const { metrics, catalog, accounts } = world
  const task = newTask('1', { card: 'slow', account: 'kling' })
  metrics.tasks.decided(task, { task: { ...task, state: 'running', startedAt: 2 } })
  metrics.tasks.created('slow')
  metrics.work.upstream('kling', 'send').end('429')
  assert.ok(seriesIn(await world.text()).some((one) => one.includes('"slow"')))
  removeModel(catalog, 'slow')
  accounts.delete('kling')
  assert.deepEqual(
    seriesIn(await world.text()).filter((one) => one.includes('"slow"') || one.includes('"kling"')),
    [],
  )
})

it('both formats have the same series, in any order of scrapes', async () => {
  using world = openWorld()
  world.metrics.tasks.created('fast')
  world.metrics.requests.end('/v1/videos', 'POST', 200, 0.03)
  const text = await world.text()
  const open = await world.metrics.render('openmetrics')
  assert.match(text, /^# TYPE filmgate_tasks_created_total counter\nfilmgate_tasks_created_total\{model="fast"\} 1$/m)
  assert.match(open, /^# TYPE filmgate_tasks_created counter\nfilmgate_tasks_created_total\{model="fast"\} 1$/m)
  assert.ok(open.endsWith('\n# EOF\n') && !open.includes('\n\n'))
  assert.deepEqual(seriesIn(open), seriesIn(text))
  assert.deepEqual(typesIn(await world.text()), typesIn(text))
})

it('polls that are served before the routes count with the others of their route', async () => {
  using world = openWorld()
  const { metrics, time } = world
  const begun = metrics.polls.begin()
  time.monotonic += 1.953125
  metrics.polls.end(begun)
  metrics.requests.end('/v1/videos/:id', 'GET', 200, 20)
  metrics.requests.end('/v1/videos/:id', 'GET', 404, 70)
  const lines = linesOf(await world.text())
  const labels = 'route="/v1/videos/:id",method="GET"'
  for (const line of [
    `filmgate_http_requests_total{${labels},status="200"} 2`,
    `filmgate_http_requests_total{${labels},status="404"} 1`,
    `filmgate_http_request_duration_seconds_bucket{${labels},le="0.001"} 0`,
    `filmgate_http_request_duration_seconds_bucket{${labels},le="0.0025"} 1`,
    `filmgate_http_request_duration_seconds_bucket{${labels},le="30"} 2`,
    `filmgate_http_request_duration_seconds_bucket{${labels},le="+Inf"} 3`,
    `filmgate_http_request_duration_seconds_sum{${labels}} 90.001953125`,
    `filmgate_http_request_duration_seconds_count{${labels}} 3`,
  ])
    assert.ok(lines.includes(line), line)
})

it('the time of a request to a provider is without its pauses', async () => {
  using world = openWorld()
  const { metrics, time } = world
  const request = metrics.work.upstream('kling', 'send')
  time.monotonic += 250
  const resume = request.pause()
  time.monotonic += 4_000
  resume()
  time.monotonic += 500
  request.end('200')
  const lines = linesOf(await world.text())
  const series = 'filmgate_upstream_request_duration_seconds_sum{account="kling",call="send"}'
  assert.ok(
    lines.includes(`${series} 0.75`),
    lines.find((line) => line.startsWith(series)),
  )
})

it('what an alert or a panel calls growth begins with 0', async () => {
  using world = openWorld()
  const task = newTask('1', { card: 'slow', account: 'kling' })
  world.metrics.tasks.decided(task, { task: { ...task, state: 'running', startedAt: 2 } })
  const lines = linesOf(await world.text())
  for (const line of [
    'filmgate_tasks_ended_total{model="slow",outcome="completed"} 0',
    'filmgate_deliveries_total{outcome="delivered"} 0',
    'filmgate_deliveries_total{outcome="retried"} 0',
    'filmgate_deliveries_total{outcome="failed"} 0',
    'filmgate_usage_cost_total{currency="CHF"} 0',
    'filmgate_usage_revenue_total{currency="CHF"} 0',
    'filmgate_money_at_risk{currency="CHF"} 0',
    'filmgate_orphan_cost{currency="CHF"} 0',
  ])
    assert.ok(lines.includes(line), line)
})

it('the times and the money of a task are those of its row', async () => {
  using world = openWorld()
  const { metrics, time } = world
  const price = { currency: 'EUR', charge: 3_000_000, cost: 2_500_000, billsFailures: false }
  const at = { createdAt: time.now, card: 'fast', account: 'kling', attempt: 'a', price }
  const task = newTask('1', { ...at, state: 'held' })
  const running: Task = { ...task, state: 'running', startedAt: time.now + 4_000 }
  const storing: Task = { ...running, state: 'storing' }
  const fact = { id: 'a', operation: 'op', settledAt: 1, problem: null }
  metrics.tasks.decided(task, { task: running, fact: { ...fact, state: 'accepted' } })
  time.now += 60_000
  metrics.tasks.decided(running, { task: storing })
  time.now += 3_000
  metrics.tasks.decided(storing, { task: { ...storing, state: 'completed' } })
  const lines = linesOf(await world.text())
  for (const line of [
    'filmgate_attempts_total{account="kling",outcome="accepted"} 1',
    'filmgate_task_start_seconds_sum{model="fast",account="kling"} 4',
    'filmgate_task_completion_seconds_sum{model="fast",account="kling"} 63',
    'filmgate_task_collection_seconds_sum{model="fast",account="kling"} 3',
    'filmgate_tasks_ended_total{model="fast",outcome="completed"} 1',
    'filmgate_usage_cost_total{currency="EUR"} 2.5',
    'filmgate_usage_revenue_total{currency="EUR"} 3',
  ])
    assert.ok(lines.includes(line), line)
})

it('an attempt of unknown outcome counts once, however often it is repeated', async () => {
  using world = openWorld()
  const task = newTask('1', { card: 'fast', account: 'kling', attempt: 'a', state: 'held' })
  const open = {
    state: 'open',
    operation: null,
    settledAt: null,
    problem: { code: 'internal', message: 'no' },
  } as const
  for (const id of ['a', 'a', 'b', 'a']) world.metrics.tasks.decided(task, { task, fact: { ...open, id } })
  world.metrics.tasks.decided(task, { task, fact: { ...open, id: 'a', state: 'abandoned', settledAt: 1 } })
  const lines = linesOf(await world.text()).filter((line) => line.startsWith('filmgate_attempts_total'))
  assert.deepEqual(lines, [
    'filmgate_attempts_total{account="kling",outcome="unknown"} 2',
    'filmgate_attempts_total{account="kling",outcome="abandoned"} 1',
  ])
})

it('a deleted task is cancelled: it costs what its last attempt cost, and brings nothing', async () => {
  const price = { currency: 'CHF', charge: 3_000_000, cost: 2_500_000, billsFailures: false }
  const about = { card: 'fast', account: 'kling', attempt: 'a', price, deletedAt: 1 }
  const accepted = { state: 'accepted' } as const
  const failed = { state: 'failed', usage: null, error: { code: 'generation_failed', message: 'no' } } as const
  const moneyAfter = async (use: (metrics: ReturnType<typeof openWorld>['metrics']) => void) => {
    using world = openWorld()
    use(world.metrics)
    const text = await world.text()
    const numberOf = (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(series))
          ?.split(' ')[1],
      )
    return [
      numberOf('filmgate_tasks_ended_total{model="fast",outcome="cancelled"}'),
      numberOf('filmgate_usage_cost_total{currency="CHF"}'),
      numberOf('filmgate_usage_revenue_total{currency="CHF"}'),
    ]
  }
  const running = newTask('1', { ...about, state: 'running', startedAt: 2 })
  const storing: Task = { ...running, state: 'storing' }
  const held = newTask('1', { ...about, state: 'held' })
  const completed: Task = { ...storing, state: 'completed' }
  for (const [expected, use] of [
    [[1, 2.5, 0], ({ tasks }) => tasks.removed(running, { attempt: accepted, end: undefined })],
    [[1, 0, 0], ({ tasks }) => tasks.removed(running, { attempt: accepted, end: failed })],
    [[1, 0, 0], ({ tasks }) => tasks.removed(held, { attempt: { state: 'open' }, end: undefined })],
    [[1, 0, 0], ({ tasks }) => tasks.removed({ ...held, state: 'queued' }, { attempt: undefined, end: undefined })],
    // It had ended before its row was removed.
    [[Number.NaN, 0, 0], ({ tasks }) => tasks.removed(completed, { attempt: accepted, end: undefined })],
    [[1, 2.5, 0], ({ tasks }) => tasks.decided(storing, { task: completed })],
  ] as [number[], (metrics: ReturnType<typeof openWorld>['metrics']) => void][])
    assert.deepEqual(await moneyAfter(use), expected)
})

it('figures of the store are shown by state, model, account and currency', async () => {
  const attempt = { task: 'video_1', account: 'kling', openedAt: 0, hasProblem: false, cost: 250_000, currency: 'USD' }
  using world = openWorld(async () => ({
    queues: [
      { card: 'fast', tasks: 3, oldestAt: 970_000 },
      { card: 'gone', tasks: 2, oldestAt: null },
    ],
    fetching: 1,
    work: [{ account: 'kling', state: 'running', tasks: 4 }],
    slots: [{ account: 'kling', used: 4 }],
    // The last one is being sent.
    open: [attempt, { ...attempt, cost: null }, { ...attempt, openedAt: 999_000 }],
    orphans: [attempt],
    abandoned: [attempt],
    pendingDeliveries: 7,
  }))
  world.accounts.set('paused', accountOf('paused', { health: { failures: 2, pausedUntil: 1_060_000, reason: 'busy' } }))
  const noCredit = { failures: 1, pausedUntil: 1_060_000, reason: 'credentials', isCredit: true } as const
  world.accounts.set('poor', accountOf('poor', { health: noCredit }))
  const lines = linesOf(await world.text())
  for (const line of [
    'filmgate_store_up 1',
    'filmgate_tasks{state="queued"} 5',
    'filmgate_tasks{state="fetching"} 1',
    'filmgate_tasks{state="running"} 4',
    'filmgate_tasks{state="held"} 0',
    'filmgate_queue_tasks{model="fast"} 3',
    'filmgate_queue_tasks{model="slow"} 0',
    'filmgate_queue_tasks{model="other"} 2',
    'filmgate_queue_oldest_seconds{model="fast"} 30',
    'filmgate_attempts_held{account="kling"} 2',
    'filmgate_money_at_risk{currency="USD"} 0.25',
    'filmgate_orphans{account="kling"} 1',
    'filmgate_orphans{account="studio"} 0',
    'filmgate_orphan_cost{currency="USD"} 0.25',
    'filmgate_slots_used{account="kling"} 4',
    'filmgate_slots_free{account="kling"} 1',
    'filmgate_deliveries_waiting 7',
    'filmgate_account_state{account="kling",state="active"} 1',
    'filmgate_account_state{account="paused",state="busy"} 1',
    'filmgate_account_state{account="paused",state="active"} 0',
    'filmgate_account_state{account="poor",state="credit"} 1',
    'filmgate_account_state{account="poor",state="credentials"} 0',
    'filmgate_account_paused_until_timestamp_seconds{account="paused"} 1060',
    'filmgate_account_failures{account="paused"} 2',
    'filmgate_store_connections{state="used"} 2',
    'filmgate_store_connections_awaited 2',
    'filmgate_children{activity="verify"} 1',
    'filmgate_children{activity="idle"} 1',
    'filmgate_alarms{kind="disk_low",severity="critical"} 1',
    'filmgate_alarms{kind="price_stale",severity="warning"} 0',
  ])
    assert.ok(lines.includes(line), line)
})

it('an account is refused or failing until a request succeeds, and busy until its pause ends', async () => {
  using world = openWorld()
  // The clock shows 1 000 000.
  for (const [pausedUntil, when] of [
    [1_060_000, 'during'],
    [940_000, 'after'],
  ] as const)
    for (const [name, health] of Object.entries({
      key: { reason: 'credentials' },
      credit: { reason: 'credentials', isCredit: true },
      circuit: { reason: 'failing' },
      limit: { reason: 'busy' },
    } as const)) {
      const account = accountOf(`${name} ${when}`, { health: { failures: 1, pausedUntil, ...health } })
      world.accounts.set(account.name, account)
    }
  const current = linesOf(await world.text()).flatMap((line) => {
    const [, account, state] = /^filmgate_account_state\{account="(\w+ \w+)",state="(\w+)"\} 1$/.exec(line) ?? []
    return account ? [`${account}: ${state}`] : []
  })
  assert.deepEqual(current.toSorted(), [
    'circuit after: failing',
    'circuit during: failing',
    'credit after: credit',
    'credit during: credit',
    'key after: credentials',
    'key during: credentials',
    'limit after: active',
    'limit during: busy',
  ])
})

it('a store that is down leaves out its figures, and nothing else', async () => {
  const fail = () => Promise.reject(new Error('it is gone'))
  using world = openWorld(fail, fail)
  world.metrics.tasks.created('fast')
  const series = seriesIn(await world.text())
  assert.ok(linesOf(await world.text()).includes('filmgate_store_up 0'))
  for (const one of ['filmgate_tasks_created_total{model="fast"}', 'filmgate_memory_bytes{kind="resident"}'])
    assert.ok(series.includes(one), one)
  assert.ok(series.includes('filmgate_account_state{account="kling",state="active"}'))
  assert.deepEqual(
    series.filter((one) => /^filmgate_(tasks\{|queue_|attempts_held|orphans|slots_|deliveries_waiting)/.test(one)),
    [],
  )
})

it('figures that can’t be read, or take too long, are left out of a scrape of a store that responds', async () => {
  const figureIn = (text: string) => linesOf(text).find((line) => line.startsWith('filmgate_tasks{state="queued"}'))
  using refused = openWorld(() => Promise.reject(new Error('a statement took too long')))
  const text = await refused.text()
  assert.deepEqual([figureIn(text), linesOf(text).includes('filmgate_store_up 1')], [undefined, true])
  const slow = Promise.withResolvers<Figures>()
  const begun = Promise.withResolvers<void>()
  using world = openWorld(() => {
    begun.resolve()
    return slow.promise
  })
  const scrape = world.text()
  await begun.promise
  world.late.end.resolve()
  const early = await scrape
  assert.deepEqual([figureIn(early), linesOf(early).includes('filmgate_store_up 1')], [undefined, true])
  world.late.end = Promise.withResolvers()
  slow.resolve(nothing)
  assert.equal(figureIn(await world.text()), 'filmgate_tasks{state="queued"} 0')
})

it('parts share a read of the store as far as its age allows, and no failure of it', async () => {
  let [now, reads, isAway] = [0, 0, false]
  const read = shareReads(
    async () => {
      reads += 1
      if (isAway) throw new Error('away')
      return reads
    },
    () => now,
  )
  assert.deepEqual(await Promise.all([read(0), read(), read(5_000)]), [1, 1, 1])
  now = 4_000
  assert.equal(await read(5_000), 1)
  assert.equal(await read(), 2)
  isAway = true
  await assert.rejects(read(0), /away/)
  isAway = false
  assert.equal(await read(5_000), 4)
})

it('the store is read once for all scrapes within 5 seconds', async () => {
  let reads = 0
  const slow = Promise.withResolvers<Figures>()
  const begun = Promise.withResolvers<void>()
  using world = openWorld(() => {
    reads += 1
    begun.resolve()
    return slow.promise
  })
  const scrapes = [world.text(), world.text()]
  await begun.promise
  // A read that takes long is not begun again.
  world.time.now += 60_000
  scrapes.push(world.text())
  await new Promise(setImmediate)
  slow.resolve(nothing)
  await Promise.all(scrapes)
  assert.equal(reads, 1)
  await world.text()
  assert.equal(reads, 2)
  world.time.now += 4_999
  await world.text()
  assert.equal(reads, 2)
})
