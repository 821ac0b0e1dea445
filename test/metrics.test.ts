import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { start } from '../src/main.ts'
import { operatorToken, startService, token, until } from './service.ts'

/* GET /metrics of a whole service. */

const page = readFileSync(join(import.meta.dirname, '../docs/metrics.md'), 'utf8')
const documented = [...page.matchAll(/^\| `(filmgate_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => `${name} ${type}`)
const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
const as = (secret: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${secret}`, ...more },
})
const env = { FILMGATE_OPERATOR_TOKEN: operatorToken }

it('a video that was made is in the metrics, which are those of docs/metrics.md', async () => {
  await using service = await startService({ env })
  const { id } = (await (await service.submit(film)).json()) as { id: string }
  assert.equal((await service.finish(id)).status, 'completed')
  for (const model of ['no-such-model', 'x"}\n1', 'y'.repeat(150)]) await service.submit({ ...film, model })
  const idle = ['filmgate_queue_tasks{model="studio"} 0', 'filmgate_slots_used{account="studio"} 0']
  const response = await service.fetch('/metrics', as(operatorToken))
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  // The figures may be up to 5 seconds old.
  const text = await until('the figures are of the time after the video', async () => {
    const found = await (await service.fetch('/metrics', as(operatorToken))).text()
    return idle.every((line) => found.includes(`\n${line}\n`)) && found
  })
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`)
  assert.ok(documented.length > 30)
  assert.deepEqual(types.toSorted(), documented.toSorted())
  const lines = text.split('\n')
  for (const line of [
    'filmgate_http_requests_total{route="/v1/videos",method="POST",status="200"} 1',
    'filmgate_http_requests_total{route="/v1/videos",method="POST",status="404"} 3',
    'filmgate_tasks_created_total{model="studio"} 1',
    'filmgate_tasks_ended_total{model="studio",outcome="completed"} 1',
    'filmgate_attempts_total{account="studio",outcome="opened"} 1',
    'filmgate_attempts_total{account="studio",outcome="accepted"} 1',
    'filmgate_task_completion_seconds_count{model="studio",account="studio"} 1',
    'filmgate_task_collection_seconds_count{model="studio",account="studio"} 1',
    'filmgate_download_duration_seconds_count{account="studio"} 1',
    'filmgate_verification_duration_seconds_count{result="ok"} 1',
    'filmgate_account_state{account="studio",state="active"} 1',
    'filmgate_store_up 1',
  ])
    assert.ok(lines.includes(line), line)
  assert.match(text, /^filmgate_http_requests_total\{route="\/v1\/videos\/:id",method="GET",status="200"\} [1-9]/m)
  assert.match(text, /^filmgate_store_commit_duration_seconds_count [1-9]/m)
  assert.match(text, /^filmgate_store_batch_size_count\{kind="group"\} [1-9]/m)
  assert.match(text, /^filmgate_bucket_operations_total\{operation="(adopt|put)",result="ok"\} 1$/m)
  assert.match(
    text,
    /^filmgate_build_info\{version="\d[^"]*",node="[^"]+",store="sqlite",bucket="disk",role="all"\} 1$/m,
  )
  // Nothing of a client, and no id.
  assert.doesNotMatch(text, /no-such-model|yyyy|red fox|video_[0-9a-f]{12}|att_[0-9a-f]{12}|default/)
})

it('what a deleted video cost is in the metrics as in the usage', async () => {
  const parts = 'price: [{ unit: second, price: "0.50" }], cost: [{ unit: second, price: "0.20" }]'
  await using service = await startService({ env, yaml: `prices: { models: { studio: { ${parts} } } }` })
  const long = { ...film, seconds: '20', size: '1920x1080' }
  const { id } = (await (await service.submit(long)).json()) as { id: string }
  await until('it runs', async () => {
    const video = await (await service.fetch(`/v1/videos/${id}`)).json()
    return (video as { status: string }).status === 'in_progress'
  })
  assert.equal((await service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
  const text = await until('it is removed', async () => {
    const found = await (await service.fetch('/metrics', as(operatorToken))).text()
    return found.includes('outcome="cancelled"') && found
  })
  const lines = text.split('\n')
  for (const line of [
    'filmgate_tasks_ended_total{model="studio",outcome="cancelled"} 1',
    'filmgate_usage_cost_total{currency="USD"} 4',
    'filmgate_usage_revenue_total{currency="USD"} 0',
  ])
    assert.ok(lines.includes(line), line)
  const { data } = await service.operator<{ data: { cost: number; revenue: number }[] }>('/usage')
  assert.deepEqual(
    data.map(({ cost, revenue }) => [cost, revenue]),
    [[4, 0]],
  )
})

it('OpenMetrics is sent to a client that prefers it', async () => {
  await using service = await startService({ env })
  const response = await service.fetch('/metrics', as(operatorToken, { accept: 'application/openmetrics-text' }))
  assert.equal(response.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  assert.match(await response.text(), /\n# EOF\n$/)
})

it('an operator token reads the metrics, a viewer too, and no other token', async () => {
  await using service = await startService({ env })
  const statusOf = async (secret: string) => (await service.fetch('/metrics', as(secret))).status
  const made = await service.fetch('/operator/v1/tokens', {
    method: 'POST',
    headers: { ...as(operatorToken).headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'prometheus', kind: 'operator', role: 'viewer' }),
  })
  const { secret } = (await made.json()) as { secret: string }
  assert.deepEqual(await Promise.all([operatorToken, secret, token, 'garbage'].map(statusOf)), [200, 200, 403, 401])
  assert.equal((await fetch(`${service.url}/metrics`)).status, 401)
})

it('an allowed address needs no token; one that a proxy reports counts only if the proxy is trusted', async () => {
  for (const [settings, forwarded, status] of [
    [{ FILMGATE_METRICS_ALLOW: '127.0.0.0/8, ::1' }, undefined, 200],
    [{ FILMGATE_METRICS_ALLOW: '192.0.2.7' }, undefined, 401],
    [{ FILMGATE_METRICS_ALLOW: '192.0.2.7' }, '192.0.2.7', 401],
    [{ FILMGATE_METRICS_ALLOW: '192.0.2.7', FILMGATE_TRUSTED_PROXIES: '127.0.0.0/8,::1' }, '192.0.2.7', 200],
    [{ FILMGATE_METRICS_ALLOW: '127.0.0.0/8', FILMGATE_TRUSTED_PROXIES: '127.0.0.0/8,::1' }, '192.0.2.7', 401],
  ] as [Record<string, string>, string | undefined, number][]) {
    await using service = await startService({ env: { ...env, ...settings } })
    const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    const { status: found } = await fetch(`${service.url}/metrics`, { headers })
    assert.equal(found, status, JSON.stringify([settings, forwarded]))
  }
})

it('with a port for operators the metrics are there alone, without a token for this machine', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-metrics-'))
  try {
    const settings = {
      ...{ FILMGATE_PORT: '0', FILMGATE_OPERATOR_PORT: '0', FILMGATE_DATA: join(folder, 'data') },
      ...{ FILMGATE_CONFIG: '/dev/null', FILMGATE_TOKEN: token, ...env },
    }
    await using service = await start(loadConfig({ flags: {}, env: settings }), { writeLog: () => {} })
    const statusOf = async (base: string | null, init = {}) => (await fetch(`${base}/metrics`, init)).status
    assert.equal(await statusOf(service.url, as(operatorToken)), 404)
    assert.equal(await statusOf(service.operatorUrl), 200)
    assert.equal(await statusOf(service.operatorUrl, { headers: { 'x-forwarded-for': '127.0.0.1' } }), 401)
    assert.equal(await statusOf(service.operatorUrl, as(operatorToken, { 'x-forwarded-for': '127.0.0.1' })), 200)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('a setting that is not a list of addresses is a mistake', () => {
  const load = () =>
    loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null', FILMGATE_METRICS_ALLOW: 'the office' } })
  assert.throws(load, /FILMGATE_METRICS_ALLOW: 'the office' can't be used/)
})
