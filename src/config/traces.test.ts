import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf } from './load.fixture.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

it('without an endpoint there are no traces, whatever else is set', () => {
  const others = { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense', FILMGATE_TRACE_PROMPTS: 'on' }
  for (const env of [{}, others, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }]) assert.equal(load('', env).traces, null)
  for (const off of [{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])
    assert.equal(load('', { ...endpoint, ...off }).traces, null)
})

it('an endpoint is enough: all traces that a client does not exclude, without prompts', () => {
  assert.deepEqual(load('', endpoint).traces, {
    url: 'http://collector:4318/v1/traces',
    headers: {},
    resource: { 'service.name': 'filmgate' },
    sampler: 'always_on',
    ratio: 1,
    isParentBased: true,
    showsPrompts: false,
    delayMs: 5_000,
    mostWaiting: 2_048,
  })
})

it("OpenTelemetry's variables have their usual meaning", () => {
  const { traces, secrets } = load('', {
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=films, authorization=Bearer%20sekret-of-the-collector',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production,service.name=overruled,team=a%2Cb',
    OTEL_SERVICE_NAME: 'films',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_BSP_MAX_QUEUE_SIZE: '64',
    FILMGATE_TRACE_PROMPTS: 'on',
  })
  assert.deepEqual(traces, {
    url: 'https://traces.example/otlp',
    headers: { 'x-tenant': 'films', authorization: 'Bearer sekret-of-the-collector' },
    resource: { 'deployment.environment.name': 'production', 'service.name': 'films', team: 'a,b' },
    sampler: 'traceidratio',
    ratio: 0.25,
    isParentBased: false,
    showsPrompts: true,
    delayMs: 100,
    mostWaiting: 64,
  })
  assert.ok(secrets.includes('Bearer sekret-of-the-collector'))
})

it('headers that may be keys are hidden in the log, and short words are not', () => {
  const OTEL_EXPORTER_OTLP_HEADERS = 'x-api-key=short-key,x-team=a-key-of-some-vendor,x-scope-orgid=production'
  const { secrets } = load('', { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS })
  const hidden = new Set(secrets.filter((secret) => /key|prod/.test(secret)))
  assert.deepEqual([...hidden].sort(), ['a-key-of-some-vendor', 'short-key'])
})

it('a path of the endpoint stays before the path of traces', () => {
  for (const path of ['/otlp', '/otlp/'])
    assert.equal(
      load('', { OTEL_EXPORTER_OTLP_ENDPOINT: `https://example.com${path}` }).traces?.url,
      'https://example.com/otlp/v1/traces',
    )
})

it('every mistake is reported with its fix, and no value that may be a secret', () => {
  const list = mistakesOf('', {
    ...endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'hunter2-without-a-name',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '10 %',
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_SDK_DISABLED: 'yes',
    OTEL_BSP_SCHEDULE_DELAY: '-1',
    OTEL_BSP_MAX_QUEUE_SIZE: 'banana',
    FILMGATE_TRACE_PROMPTS: '1',
  })
  assert.deepEqual(list.map((line) => line.split(': ', 1)[0]).sort(), [
    'FILMGATE_TRACE_PROMPTS',
    'OTEL_BSP_MAX_QUEUE_SIZE',
    'OTEL_BSP_SCHEDULE_DELAY',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'OTEL_SDK_DISABLED',
    'OTEL_TRACES_EXPORTER',
    'OTEL_TRACES_SAMPLER_ARG',
  ])
  assert.ok(!list.join().includes('hunter2'))
  assert.match(mistakesOf('', { ...endpoint, OTEL_TRACES_SAMPLER: 'jaeger' }).join(), /use one of: always_on, parent/)
  const split = mistakesOf('', { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=hunter2%0d%0ax: y' }).join()
  assert.match(split, /^OTEL_EXPORTER_OTLP_HEADERS: a value can't be the value of a header/)
  assert.ok(!split.includes('hunter2'))
  const wrong = mistakesOf('', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:hunter2@collector' }).join()
  assert.match(wrong, /^OTEL_EXPORTER_OTLP_ENDPOINT: its value can't be used; use a URL such as/)
  assert.ok(!wrong.includes('hunter2'))
})
