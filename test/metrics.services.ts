import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { operatorToken, startService, token, until } from './service.ts'
import { startPlaces } from './services/places.ts'
import { checkMetrics, startPrometheus } from './services/prometheus.ts'

/* Metrics of processes on a shared database, as Prometheus reads them. */

const places = await startPlaces({ fsync: 'off' })
after(() => places[Symbol.asyncDispose]())

const startRole = (role: string) =>
  startService({
    env: { ...places.settings(role), FILMGATE_TOKEN: token, FILMGATE_OPERATOR_TOKEN: operatorToken },
  })

async function scrape(url: string, accept = ''): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${operatorToken}`, accept } })
  assert.equal(response.status, 200)
  return response.text()
}

it('Prometheus scrapes an API process and a worker, and promtool has nothing to complain about', async () => {
  await using worker = await startRole('worker')
  await using api = await startRole('api')
  await using prometheus = await startPrometheus([api.url, worker.url], operatorToken)
  const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
  const { id } = (await (await api.submit(film)).json()) as { id: string }
  assert.equal((await api.finish(id)).status, 'completed')
  for (const { url } of [api, worker]) assert.equal(checkMetrics(await scrape(url)), '')

  const sees = (expression: string, expected: (value: number) => boolean) =>
    until(expression, async () => (await prometheus.query(expression)).some(expected))
  const is = (wanted: number) => (value: number) => value === wanted
  await sees('sum(up)', is(2))
  await sees('sum(filmgate_tasks_created_total{model="studio"})', is(1))
  await sees('sum(filmgate_tasks_ended_total{model="studio",outcome="completed"})', is(1))
  await sees('min(filmgate_store_up)', is(1))
  await sees('max(filmgate_tasks{state="queued"})', is(0))
  await sees('sum(filmgate_task_completion_seconds_count{model="studio",account="studio"})', is(1))
  await sees('histogram_quantile(0.5, sum by (le) (filmgate_task_completion_seconds_bucket))', (value) => value > 0)
  await sees('sum(filmgate_store_batch_size_count{kind="insert"})', is(1))
  await sees('min(sum by (instance) (filmgate_store_connections))', (value) => value > 0)
  await sees('count(filmgate_build_info{store="postgres",role="worker"})', is(1))
})

it('both formats have the same metrics', async () => {
  await using api = await startRole('api')
  const namesOf = (text: string) =>
    new Set([...text.matchAll(/^(filmgate_\w+?)(?:_bucket|_sum|_count)?(?:\{| )/gm)].map(([, name]) => name))
  // Before the second scrape it has counted the first.
  await scrape(api.url)
  const [text, open] = [await scrape(api.url), await scrape(api.url, 'application/openmetrics-text;version=1.0.0')]
  assert.deepEqual(namesOf(open), namesOf(text))
})

it('while the database is gone its figures are absent, and the scrape succeeds', async () => {
  await using api = await startRole('api')
  assert.match(await scrape(api.url), /^filmgate_store_up 1$/m)
  await places.postgres.stop('SIGQUIT')
  try {
    const text = await until('the figures are absent', async () => {
      const found = await scrape(api.url)
      return found.includes('\nfilmgate_store_up 0\n') && found
    })
    assert.doesNotMatch(text, /^filmgate_(tasks|queue_tasks|slots_used)\{/m)
    assert.match(text, /^filmgate_memory_bytes\{kind="resident"\} \d+$/m)
  } finally {
    await places.postgres.start()
  }
  await until('the figures are back', async () => (await scrape(api.url)).includes('\nfilmgate_store_up 1\n'))
})
