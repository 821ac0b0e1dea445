import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type CollectedSpan, startCollector } from './collector.ts'
import { sendJson, startScripted } from './scripted-upstream.ts'
import { startService, token, until } from './service.ts'
import {
  assertConnected,
  assertTracedOverKill,
  body,
  clientSpan,
  idOf,
  prompt,
  traceId,
  traceparent,
  yamlOf,
} from './trace-world.ts'
import { startReceiver } from './webhook-world.ts'

/* Traces, as a collector receives them. */

/** Spans are sent soon, and not after 5 seconds. */
const soon = { OTEL_BSP_SCHEDULE_DELAY: '50' }

/** The names from the first span to this one. */
function pathOf(span: CollectedSpan | undefined, spans: readonly CollectedSpan[]): string[] {
  const parent = spans.find(({ spanId }) => spanId === span?.parentSpanId)
  return span ? [...(parent ? pathOf(parent, spans) : []), span.name] : []
}

it('a task is one connected trace, from the request of the client to the webhook', async () => {
  await using collector = await startCollector()
  await using upstream = await startScripted()
  await using hooks = await startReceiver()
  const sent: unknown[] = []
  upstream.onSubmit = (response) => {
    sent.push(response.req.headers.traceparent)
    sendJson(response, { id: 'video_1', status: 'queued' })
  }
  const env = {
    ...soon,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20the-key-of-the-collector',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_SERVICE_NAME: 'films',
  }
  let id = ''
  {
    await using service = await startService({ yaml: yamlOf(upstream, [hooks.port]), env })
    const endpoint = { name: 'films', url: `${hooks.url}/hook?key=hunter2`, event_types: ['video.completed'] }
    const headers = { 'content-type': 'application/json' }
    const created = await service.fetch('/v1/webhook_endpoints', {
      method: 'POST',
      headers,
      body: JSON.stringify(endpoint),
    })
    assert.equal(created.status, 200)
    id = await idOf(await service.submit(body, { traceparent }))
    assert.equal((await service.finish(id)).status, 'completed')
    await until('the webhook was sent', () => hooks.all.length === 1)
    const lines = service.log.map((line) => JSON.parse(line)).filter(({ task }) => task === id)
    assert.ok(lines.length > 0)
    for (const line of lines) assert.equal(line.trace_id, traceId, JSON.stringify(line))
  }
  const spans = collector.spans(traceId)
  assertConnected(spans)
  const named = (name: string | RegExp) =>
    spans.find((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)))
  const attempt = named(/^generate_content /)
  assert.ok(attempt)
  const task = ['POST /v1/videos', 'video film']
  for (const [name, ...path] of [
    ['queue', ...task],
    ['deliver webhook', ...task],
    ['submit', ...task, attempt.name],
    ['poll', ...task, attempt.name],
    ['collect', ...task, attempt.name],
    ...['download', 'verify', 'store'].map((part) => [part, ...task, attempt.name, 'collect']),
  ] as [string, ...string[]][])
    assert.deepEqual(pathOf(named(name), spans), [...path, name])

  const { attributes, events, resource } = named('video film') as CollectedSpan
  assert.deepEqual(
    [attributes['filmgate.task.id'], attributes['gen_ai.request.model'], attributes['filmgate.outcome']],
    [id, 'film', 'completed'],
  )
  assert.ok(events.includes('attempt opened') && events.includes('completed'))
  assert.deepEqual([resource['service.name'], resource['deployment.environment.name']], ['films', 'test'])
  assert.deepEqual(
    [attempt.attributes['gen_ai.provider.name'], attempt.attributes['filmgate.account']],
    ['openai', 'main'],
  )
  assert.deepEqual(sent, [`00-${traceId}-${attempt.spanId}-01`])
  assert.equal(hooks.all[0]?.headers.traceparent, `00-${traceId}-${named('deliver webhook')?.spanId}-01`)
  assert.equal(collector.receiver.all[0]?.headers.authorization, 'Bearer the-key-of-the-collector')
  assert.equal(collector.receiver.all[0]?.path, '/v1/traces')
  const secrets = [prompt, 'the-key-of-the-collector', 'the-key-of-the-upstream', 'hunter2', token]
  for (const secret of secrets) assert.ok(!collector.text.includes(secret), `${secret} was sent`)
})

it('a task whose worker is killed in the middle is still one connected trace', async () => {
  await using collector = await startCollector()
  await assertTracedOverKill(collector, collector.url)
})

it('a submit of unknown outcome has its error, in the log, too, and is one span; searches for its attempt are others', async () => {
  await using collector = await startCollector()
  await using upstream = await startScripted()
  upstream.onSubmit = (response) => void response.writeHead(500).end()
  await using service = await startService({
    yaml: yamlOf(upstream),
    env: { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  const id = await idOf(await service.submit(body, { traceparent }))
  const named = (name: string) => collector.spans(traceId).filter((span) => span.name === name)
  await until('its attempt was looked for', () => named('recover').length > 0)
  assert.deepEqual(
    named('submit').map(({ attributes }) => attributes['error.type']),
    ['provider_unavailable'],
  )
  const lines = service.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'a task met a problem')
  assert.deepEqual(
    lines.map(({ task, account, code }) => [task, account, code]),
    [[id, 'main', 'provider_unavailable']],
  )
})

it('a video that is deleted while it is generated has its spans, with what it cost', async () => {
  await using collector = await startCollector()
  await using upstream = await startScripted()
  upstream.status = 'in_progress'
  const prices = { models: { film: { cost: [{ unit: 'second', price: '0.10' }] } } }
  const yaml = JSON.stringify({ ...JSON.parse(yamlOf(upstream)), prices })
  await using service = await startService({ yaml, env: { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  const id = await idOf(await service.submit(body, { traceparent }))
  await until('it is generated', () => service.log.some((line) => line.includes('task running') && line.includes(id)))
  assert.equal((await service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
  upstream.status = 'completed'
  const ended = () => collector.spans(traceId).filter(({ name }) => name === 'video film')
  await until('its span was sent', () => ended().length > 0)
  assert.deepEqual(
    ended().map(({ attributes }) => [attributes['filmgate.outcome'], attributes['filmgate.cost']]),
    [['cancelled', 0.4]],
  )
})

it('a client that does not sample its trace sends nothing to the collector; prompts are sent only if they are switched on', async () => {
  await using collector = await startCollector()
  await using upstream = await startScripted()
  const env = { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, FILMGATE_TRACE_PROMPTS: 'on' }
  {
    await using service = await startService({ yaml: yamlOf(upstream), env })
    const unsampled = await idOf(await service.submit(body, { traceparent: `00-${traceId}-${clientSpan}-00` }))
    await service.finish(unsampled)
    const next = JSON.stringify({ model: 'film', prompt: 'a public fox', seconds: '4' })
    upstream.onSubmit = (response) => sendJson(response, { id: 'video_2', status: 'queued' })
    await service.finish(await idOf(await service.submit(next)))
    assert.ok(service.log.some((line) => line.includes(unsampled) && line.includes(traceId)))
  }
  assert.deepEqual(collector.spans(traceId), [])
  const [task, ...others] = collector.spans().filter(({ name }) => name === 'video film')
  assert.equal(others.length, 0)
  assert.match(String(task?.attributes['gen_ai.input.messages']), /a public fox/)
  assert.ok(!collector.text.includes(prompt))
})

it('a collector that is down is two lines in the log, and delays no task', async () => {
  await using collector = await startCollector()
  await using upstream = await startScripted()
  const { handle } = collector.receiver
  collector.receiver.handle = (_received, response) => void response.writeHead(400).end()
  const env = { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  await using service = await startService({ yaml: yamlOf(upstream), env })
  const about = (words: string) => service.log.filter((line) => line.includes(words)).map((line) => JSON.parse(line))
  assert.equal((await service.finish(await idOf(await service.submit(body, { traceparent })))).status, 'completed')
  const refuse = async () => {
    // Refused, as the model does not exist. It is a span of its own.
    await service.submit({ model: 'nothing', prompt: 'x' })
    return collector.receiver.all.length >= 3
  }
  await until('three batches were refused', refuse, 100)
  assert.equal(about("traces can't be sent").length, 1)
  collector.receiver.handle = handle
  const recovers = async () => {
    await service.submit({ model: 'nothing', prompt: 'x' })
    return about('traces are sent again').length > 0
  }
  await until('the collector is back', recovers, 100)
  assert.equal(about("traces can't be sent").length, 1)
  const [line, ...more] = about('traces are sent again')
  assert.equal(more.length, 0)
  assert.ok(line.failures >= 3)
})
