import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { alwaysTraced } from '../core/trace.fixture.ts'
import type { EndedSpan, TraceSettings } from '../core/trace.ts'
import type { Posted } from '../outbound.ts'
import { openExporter } from './otlp.ts'

const usual: TraceSettings = {
  ...alwaysTraced,
  url: 'http://collector:4318/v1/traces',
  headers: { 'x-tenant': 'films' },
  resource: { 'service.name': 'filmgate' },
}
const span: EndedSpan = {
  name: 'poll',
  kind: 'client',
  context: { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), isSampled: true },
  parentId: null,
  startedAt: 1_700_000_000_123,
  endedAt: 1_700_000_000_456,
  attributes: {},
  error: null,
}
const accepted: Posted = { status: 200, retryAfter: null }

/** A collector that gives these responses, and then accepts everything. */
function open(changes: Partial<TraceSettings> = {}, responses: Posted[] = []) {
  const clock = manualClock()
  const lines: string[] = []
  const log = { info: line, warn: line, error: line }
  function line(event: string, fields?: Record<string, unknown>) {
    lines.push(`${event} ${JSON.stringify(fields)}`)
  }
  const batches: { url: string; headers: Readonly<Record<string, string>>; names: string[]; body: string }[] = []
  const outbound = {
    async postTrusted(url: string, { headers, body }: { headers: Readonly<Record<string, string>>; body: string }) {
      const [{ scopeSpans }] = JSON.parse(body).resourceSpans
      const names: string[] = scopeSpans[0].spans.map(({ name }: EndedSpan) => name)
      batches.push({ url, headers, names, body })
      return responses.shift() ?? accepted
    },
  }
  const exporter = openExporter({ ...usual, ...changes }, { log, clock, outbound, instance: 'one' })
  const names = () => batches.map((batch) => batch.names.join(' '))
  const pass = async (ms: number) => {
    clock.advance(ms)
    await turn()
  }
  return { exporter, batches, names, pass, lines }
}

/** All that can go on without the clock has gone on. */
const turn = () => new Promise((resolve) => setImmediate(resolve))
const named = (name: string): EndedSpan => ({ ...span, name })

it("a span is sent as OpenTelemetry's protocol says", async () => {
  const { exporter, batches } = open()
  exporter.send({
    ...span,
    parentId: 'ef'.repeat(8),
    attributes: { text: 'a "fox"', whole: 4, part: 0.4, is: true },
    error: 'provider_unavailable',
    events: [{ at: 1_700_000_000_200, name: 'queued' }],
  })
  exporter.send({ ...span, kind: 'server' })
  await exporter[Symbol.asyncDispose]()
  assert.equal(batches.length, 1)
  const [{ url, headers, body } = assert.fail()] = batches
  assert.equal(url, 'http://collector:4318/v1/traces')
  assert.deepEqual(headers, { 'x-tenant': 'films', 'content-type': 'application/json' })
  const ids = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), flags: 1, name: 'poll' }
  const times = { startTimeUnixNano: '1700000000123000000', endTimeUnixNano: '1700000000456000000' }
  const resource = [
    { key: 'service.instance.id', value: { stringValue: 'one' } },
    { key: 'service.name', value: { stringValue: 'filmgate' } },
  ]
  const attributes = [
    { key: 'text', value: { stringValue: 'a "fox"' } },
    { key: 'whole', value: { intValue: '4' } },
    { key: 'part', value: { doubleValue: 0.4 } },
    { key: 'is', value: { boolValue: true } },
    { key: 'error.type', value: { stringValue: 'provider_unavailable' } },
  ]
  const events = [{ name: 'queued', timeUnixNano: '1700000000200000000' }]
  const spans = [
    { ...ids, ...times, kind: 3, parentSpanId: 'ef'.repeat(8), attributes, events, status: { code: 2 } },
    { ...ids, ...times, kind: 2, attributes: [] },
  ]
  assert.deepEqual(JSON.parse(body), {
    resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope: { name: 'filmgate' }, spans }] }],
  })
})

it('spans wait for others until the delay is over or a batch is full', async () => {
  const { exporter, names, batches, pass } = open()
  exporter.send(named('a'))
  await pass(4_999)
  assert.deepEqual(names(), [])
  await pass(1)
  assert.deepEqual(names(), ['a'])
  for (let count = 0; count < 512 + 2; count += 1) exporter.send(named('b'))
  await turn()
  assert.deepEqual(
    batches.map((batch) => batch.names.length),
    [1, 512],
  )
  await exporter[Symbol.asyncDispose]()
  assert.equal(batches.at(-1)?.names.length, 2)
})

it('spans wait for a collector that is down, and are sent once', async () => {
  const away: Posted = { error: 'connection_failed' }
  const busy: Posted = { status: 503, retryAfter: '20' }
  const { exporter, names, pass, lines } = open({}, [away, busy])
  exporter.send(named('a'))
  await pass(5_000)
  exporter.send(named('b'))
  await pass(5_000)
  assert.deepEqual(names(), ['a', 'a b'])
  // It asked for 20 seconds.
  await pass(19_999)
  assert.equal(names().length, 2)
  await pass(1)
  assert.deepEqual(names(), ['a', 'a b', 'a b'])
  await exporter[Symbol.asyncDispose]()
  assert.equal(names().length, 3)
  assert.deepEqual(lines, [
    `traces can't be sent to the collector {"error":"connection_failed","spans":1}`,
    `traces can't be sent to the collector {"status":503,"retryAfter":"20","spans":2}`,
    'traces are sent again {"failures":2,"seconds":25}',
  ])
})

it('a Retry-After without end is not followed for ever', async () => {
  const { exporter, names, pass } = open({}, [
    { status: 429, retryAfter: '1e300' },
    { status: 429, retryAfter: '9999999999' },
  ])
  exporter.send(named('a'))
  await pass(5_000)
  await pass(5_000)
  await pass(60_000)
  assert.deepEqual(names(), ['a', 'a', 'a'])
  await exporter[Symbol.asyncDispose]()
})

it('a batch that can never be sent is dropped once the queue is full', async () => {
  const away: Posted = { error: 'connection_failed' }
  const { exporter, names, pass } = open({ mostWaiting: 2 }, [away, away])
  exporter.send(named('a'))
  await pass(5_000)
  exporter.send(named('b'))
  await pass(5_000)
  exporter.send(named('c'))
  await pass(5_000)
  assert.deepEqual(names(), ['a', 'a b', 'c'])
  await exporter[Symbol.asyncDispose]()
})

it('a request is not much longer than collectors accept', async () => {
  const { exporter, batches } = open()
  const prompt = 'x'.repeat(2 ** 20)
  for (let count = 0; count < 5; count += 1) exporter.send({ ...span, attributes: { prompt } })
  exporter.send({ ...span, attributes: { prompt: prompt.repeat(5) } })
  await exporter[Symbol.asyncDispose]()
  assert.deepEqual(
    batches.map((batch) => batch.names.length),
    [3, 2, 1],
  )
})

it('a batch that the collector refuses does not stop later ones', async () => {
  const { exporter, names, pass } = open({}, [{ status: 400, retryAfter: null }])
  exporter.send(named('a'))
  await pass(5_000)
  exporter.send(named('b'))
  await pass(5_000)
  assert.deepEqual(names(), ['a', 'b'])
  await exporter[Symbol.asyncDispose]()
})

it('while the collector is down, the queue keeps no more than it may', async () => {
  const { exporter, names, pass } = open({ mostWaiting: 3 }, [{ error: 'timed_out' }])
  exporter.send(named('a'))
  await pass(5_000)
  for (const name of ['b', 'c', 'd']) exporter.send(named(name))
  await exporter[Symbol.asyncDispose]()
  assert.deepEqual(names(), ['a', 'a b c'])
})

it('the end does not wait for a collector that is down or never responds', async () => {
  const { exporter, names } = open({}, [{ error: 'connection_failed' }])
  exporter.send(span)
  await exporter[Symbol.asyncDispose]()
  assert.equal(names().length, 1)

  const clock = manualClock()
  const hanging = Promise.withResolvers<Posted>()
  const outbound = { postTrusted: () => hanging.promise }
  const log = { info() {}, warn() {}, error() {} }
  const stuck = openExporter(usual, { log, clock, outbound, instance: 'two' })
  stuck.send(span)
  const closed = stuck[Symbol.asyncDispose]()
  await turn()
  clock.advance(5_000)
  await closed
})

it('a ratio keeps its share of the traces, by their ids alone', () => {
  const ids = Array.from(
    { length: 256 },
    (_, at) => `${'7'.repeat(18)}${at.toString(16).padStart(2, '0')}${'0'.repeat(12)}`,
  )
  const share = (ratio: number) => {
    const { exporter } = open({ sampler: 'traceidratio', ratio })
    return ids.filter((id) => exporter.samples(id)).length
  }
  assert.deepEqual([share(0), share(0.25), share(1)], [0, 64, 256])
  assert.equal(open({ sampler: 'traceidratio', ratio: 0 }).exporter.samples('f'.repeat(32)), false)
})
