import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { parse } from 'yaml'
import { simulated } from '../simulators/provider.ts'
import { startUpstream, type Upstream } from '../simulators/upstream.ts'
import { alarmKindNames } from '../src/core/alarms.ts'
import { providers } from '../src/providers/index.ts'
import { readEvents } from './listening.ts'
import { operatorToken, startService, type TestService, until } from './service.ts'
import { startPlaces } from './services/places.ts'
import { runPromtool, startPrometheus } from './services/prometheus.ts'
import { startReceiver } from './webhook-world.ts'

/* The dashboards and alert rules of deploy/grafana, with a real Prometheus. */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'filmgate-grafana-'))
after(() => rmSync(folder, { recursive: true }))
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
const rulesFile = join(root, 'deploy/grafana/rules.yaml')

interface Rule {
  alert: string
  expr: string
  annotations: { runbook: string }
}
const { groups } = parse(textOf('deploy/grafana/rules.yaml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)

interface Panel {
  title: string
  targets?: { expr: string }[]
}
const panels = globSync('deploy/grafana/dashboards/*.json', { cwd: root }).flatMap((file) => {
  const dashboard = JSON.parse(textOf(file)) as { panels: Panel[] }
  return dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ file, title, expr })))
})

type Series = Readonly<Record<string, string>>

/** Three values, again and again for three hours. */
const repeat = (values: string) => Array.from({ length: 60 }, () => values).join(' ')

/** The series that make each alert fire, one value for each minute, as promtool reads them. */
const causes: Readonly<Record<string, Series>> = {
  FilmgateProcessDown: { 'up{job="filmgate",instance="api"}': '0x180' },
  FilmgateStoreFailing: { 'filmgate_store_up{instance="api"}': '0x180' },
  FilmgateFiguresMissing: { 'filmgate_store_up{instance="api"}': '1x180' },
  FilmgateBucketFailing: {
    'filmgate_bucket_operations_total{operation="put",result="failed"}': '0+1x180',
    'filmgate_bucket_operations_total{operation="put",result="ok"}': '0+1x180',
  },
  FilmgateAccountRefused: { 'filmgate_account_state{account="a",state="credentials"}': '1x180' },
  FilmgateAccountCredit: { 'filmgate_account_state{account="a",state="credit"}': '1x180' },
  FilmgateCircuitOpen: { 'filmgate_account_state{account="a",state="failing"}': '1x180' },
  // Pauses of two minutes, and a try after each.
  FilmgateAccountBusy: { 'filmgate_account_state{account="a",state="busy"}': repeat('1 1 0') },
  FilmgateAttemptHeld: { 'filmgate_attempts_held{account="a"}': '2x180' },
  FilmgateOrphans: { 'filmgate_orphans{account="a"}': '1000x180', 'filmgate_alarms{kind="orphan_cost"}': '1x180' },
  FilmgateQueueOld: { 'filmgate_queue_oldest_seconds{model="m"}': '1000x180' },
  // The first failure of a process.
  FilmgateDeliveriesFailing: { 'filmgate_deliveries_total{outcome="failed"}': '0x90 1x90' },
  FilmgateLimitReached: { 'filmgate_alarms{kind="limit_reached"}': '2x180' },
  FilmgateDiskLow: { 'filmgate_alarms{kind="disk_low"}': '1x180' },
  FilmgateBucketLimit: { 'filmgate_alarms{kind="bucket_limit"}': '1x180' },
  FilmgatePriceStale: { 'filmgate_alarms{kind="price_stale"}': '1x180' },
  FilmgateModelRetired: { 'filmgate_alarms{kind="model_retired"}': '1x180' },
  FilmgateClockWrong: { 'filmgate_alarms{kind="clock_wrong"}': '1x180' },
  FilmgateCertificateFailing: { 'filmgate_alarms{kind="certificate_failing"}': '1x180' },
  FilmgateVideosFailing: {
    'filmgate_tasks_ended_total{model="m",outcome="generation_failed"}': '0+1x180',
    'filmgate_tasks_ended_total{model="m",outcome="completed"}': '0+1x180',
    'filmgate_tasks_ended_total{model="m",outcome="cancelled"}': '0+9x180',
  },
  FilmgateUpstreamFailing: {
    'filmgate_upstream_requests_total{account="a",call="fetch",result="503"}': '0+1x180',
    'filmgate_upstream_requests_total{account="a",call="fetch",result="200"}': '0+1x180',
  },
  FilmgateRequestsFailing: {
    'filmgate_http_requests_total{route="/v1/videos",method="GET",status="500"}': '0+1x180',
    'filmgate_http_requests_total{route="/v1/videos",method="GET",status="200"}': '0+50x180',
    'filmgate_http_requests_total{route="/metrics",method="GET",status="200"}': '0+1000x180',
  },
  FilmgateCommitsSlow: {
    'filmgate_store_commit_duration_seconds_bucket{instance="api",le="0.5"}': '0+1x180',
    'filmgate_store_commit_duration_seconds_bucket{instance="api",le="1"}': '0+9x180',
    'filmgate_store_commit_duration_seconds_bucket{instance="api",le="+Inf"}': '0+9x180',
  },
  FilmgateConnectionsAwaited: { 'filmgate_store_connections_awaited{instance="api"}': '20x180' },
  FilmgateEventLoopBlocked: { 'filmgate_event_loop_delay_p99_seconds{instance="api"}': '0.5x180' },
  FilmgateRestarts: { 'filmgate_start_time_seconds{instance="api"}': '0+100x180' },
  FilmgateVersionsDiffer: {
    'filmgate_build_info{version="1",instance="a"}': '1x180',
    'filmgate_build_info{version="2",instance="b"}': '1x180',
  },
}

/** A service in which nothing is wrong, apart from a few failures and an old orphan. */
const healthy: Series = {
  'up{job="filmgate",instance="api"}': '1x180',
  'filmgate_store_up{instance="api"}': '1x180',
  'filmgate_deliveries_waiting{instance="api"}': '3x180',
  'filmgate_bucket_operations_total{operation="put",result="ok"}': '0+10x180',
  'filmgate_bucket_operations_total{operation="put",result="failed"}': '1x180',
  'filmgate_account_state{account="a",state="active"}': '1x180',
  'filmgate_account_state{account="a",state="credentials"}': '0x180',
  'filmgate_account_state{account="a",state="credit"}': '0x180',
  'filmgate_account_state{account="a",state="failing"}': '0x180',
  'filmgate_account_state{account="a",state="busy"}': repeat('1 0 0'),
  'filmgate_attempts_held{account="a"}': '0x180',
  'filmgate_orphans{account="a"}': '1x180',
  'filmgate_queue_oldest_seconds{model="m"}': '60x180',
  'filmgate_deliveries_total{outcome="delivered"}': '0+1x180',
  'filmgate_deliveries_total{outcome="failed"}': '0x180',
  'filmgate_tasks_ended_total{model="m",outcome="completed"}': '0+1x180',
  'filmgate_tasks_ended_total{model="m",outcome="generation_failed"}': '1x180',
  'filmgate_tasks_ended_total{model="m",outcome="cancelled"}': '0+1x180',
  'filmgate_upstream_requests_total{account="a",call="fetch",result="200"}': '0+10x180',
  'filmgate_upstream_requests_total{account="a",call="fetch",result="503"}': '0+1x180',
  'filmgate_http_requests_total{route="/v1/videos",method="GET",status="200"}': '0+1000x180',
  'filmgate_http_requests_total{route="/v1/videos",method="GET",status="503"}': '0+1x180',
  // Health checks may say that a process is not ready, and clients do not see that.
  'filmgate_http_requests_total{route="/readyz",method="GET",status="503"}': '0+1000x180',
  'filmgate_store_commit_duration_seconds_bucket{instance="api",le="0.5"}': '0+9x180',
  'filmgate_store_commit_duration_seconds_bucket{instance="api",le="+Inf"}': '0+9x180',
  'filmgate_store_connections_awaited{instance="api"}': '0x180',
  'filmgate_event_loop_delay_p99_seconds{instance="api"}': '0.01x180',
  'filmgate_start_time_seconds{instance="api"}': '5x180',
  'filmgate_build_info{version="1",instance="api"}': '1x180',
  ...Object.fromEntries(alarmKindNames.map((kind) => [`filmgate_alarms{kind="${kind}"}`, '0x180'])),
}

/** A test of promtool: after two hours with these series, exactly these alerts fire. */
function alertTest(name: string, series: Series, alerts: readonly string[]) {
  const expr = 'count by (alertname) (ALERTS{alertstate="firing"})'
  const expected = alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }))
  return {
    name,
    interval: '1m',
    input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
    promql_expr_test: [{ expr, eval_time: '2h', exp_samples: expected }],
  }
}

it('each alert fires by its cause and by no other, and none fires in a healthy service', () => {
  assert.equal(runPromtool(['check', 'rules', rulesFile]), '')
  const config = join(root, 'deploy/grafana/prometheus.yaml')
  assert.equal(runPromtool(['check', 'config', '--syntax-only', config]), '')
  const names = rules.map(({ alert }) => alert)
  assert.deepEqual(Object.keys(causes).toSorted(), names.toSorted())
  const tests = Object.entries(causes).map(([alert, series]) => alertTest(alert, series, [alert]))
  const all = [...tests, alertTest('healthy', healthy, [])]
  const file = join(folder, 'alerts.yaml')
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: all }))
  assert.equal(runPromtool(['test', 'rules', file]), '')
})

it('every metric of a panel or a rule is in docs/metrics.md, and every page of a rule exists', () => {
  const known = new Set([...textOf('docs/metrics.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name))
  for (const expr of [...panels, ...rules].map((one) => one.expr))
    for (const [name] of expr.matchAll(/\bfilmgate_\w+/g))
      assert.ok(known.has(name) || known.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} in ${expr}`)
  for (const { alert, annotations } of rules) {
    const [page = '', anchor] = annotations.runbook.split('#')
    const text = textOf(page)
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title)
    const anchors = headings.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    const isThere = anchor === undefined || anchors.includes(anchor) || text.includes(`<a id="${anchor}"`)
    assert.ok(isThere, `${alert}: ${annotations.runbook}`)
  }
})

const film = { model: 'sim-none', prompt: 'a red fox', seconds: '4', size: '1280x720' }

async function submit(api: TestService, prompt: string): Promise<string> {
  const answer = await api.submit({ ...film, prompt }, { connection: 'close' })
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { id: string }).id
}

/** Videos that end in each way, with money, webhooks and a download, so that each metric has a series. */
async function work(api: TestService, upstream: Upstream): Promise<void> {
  const faults = ['poll-failed', 'submit-500-after-accept', 'submit-429-seconds-before-accept']
  upstream.setFaults({ next: faults.map((fault) => ({ fault, prompt: fault })) })
  const [failing = '', unknown = '', refused = ''] = await Promise.all(faults.map((fault) => submit(api, fault)))
  const completed = await submit(api, 'a red fox')
  for (const [id, status] of [
    [failing, 'failed'],
    [refused, 'completed'],
    [completed, 'completed'],
  ] as const)
    assert.equal((await api.finish(id)).status, status, id)
  const content = await api.fetch(`/v1/videos/${completed}/content`, { headers: { connection: 'close' } })
  assert.ok((await content.arrayBuffer()).byteLength > 0)
  await until('one is held', async () => (await api.operator<{ state: string }>(`/tasks/${unknown}`)).state === 'held')
}

it('each panel has data, and each rule is evaluated, on a service that works', async () => {
  await using places = await startPlaces({ fsync: 'off' })
  await using upstream = await startUpstream()
  await using receiver = await startReceiver()
  const price = (amount: string) => [{ unit: 'second', price: amount }]
  const yaml = JSON.stringify({
    accounts: { main: { provider: 'sim-none', base_url: upstream.url, key: 'the upstream key' } },
    prices: { models: { 'sim-none': { price: price('0.50'), cost: price('0.20') } } },
    outbound: { allow: ['127.0.0.1'] },
  })
  const members = { ...providers, ...simulated }
  await using api = await startService({ yaml, members, env: places.settings('api') })
  await using worker = await startService({ yaml, members, env: places.settings('worker') })
  const endpoint = { name: 'test', url: receiver.url, event_types: ['video.completed', 'video.failed'] }
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const init = { method: 'POST', headers, body: JSON.stringify(endpoint) }
  assert.equal((await api.fetch('/v1/webhook_endpoints', init)).status, 200)
  const stream = readEvents(await api.fetch('/v1/videos/events'))

  await using prometheus = await startPrometheus([api.url, worker.url], operatorToken, [rulesFile])
  await until('both are scraped', async () => {
    const [up] = await prometheus.query('sum(up{job="filmgate"})')
    return up === 2
  })
  await work(api, upstream)
  // Series that began after the first scrape grow.
  await work(api, upstream)

  const empty = new Set(panels)
  await until('each panel has data', async () => {
    for (const panel of empty) {
      const expression = panel.expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '5m')
      if ((await prometheus.query(expression)).length > 0) empty.delete(panel)
    }
    return empty.size === 0
  }).catch((error) => assert.fail(`${error}: ${JSON.stringify([...empty], null, 2)}`))
  const evaluated = await until('each rule is evaluated', async () => {
    const all = await prometheus.rules()
    assert.ok(
      all.every(({ health }) => health !== 'err'),
      JSON.stringify(all),
    )
    return all.every(({ health }) => health === 'ok') && all
  })
  assert.deepEqual(evaluated.map(({ name }) => name).toSorted(), rules.map(({ alert }) => alert).toSorted())
  await until('the held attempt is noticed', async () => {
    const held = (await prometheus.rules()).find(({ name }) => name === 'FilmgateAttemptHeld')
    return held?.state === 'pending' || held?.state === 'firing'
  })
  await stream.cancel()
})
