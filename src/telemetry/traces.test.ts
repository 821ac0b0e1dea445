import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { alwaysTraced } from '../core/trace.fixture.ts'
import { noSpan, noTraces, type TraceSettings } from '../core/trace.ts'
import { newTask } from '../stores/contract/world.ts'
import { openTraces } from './traces.ts'

const log = { info() {}, warn() {}, error() {} }
let count = 0
const random = (bytes: number) => new Uint8Array(bytes).fill(++count)
// These tests end no sampled span.
const outbound = { postTrusted: () => assert.fail('a span is sent') }
const open = (changes: Partial<TraceSettings> | null) =>
  openTraces({ settings: changes && { ...alwaysTraced, ...changes }, clock: manualClock(), random, log, outbound })

const traceId = 'ab'.repeat(16)
const parentId = 'cd'.repeat(8)
const sampled = `00-${traceId}-${parentId}-01`
const unsampled = `00-${traceId}-${parentId}-00`

it('without a collector nothing is traced', async () => {
  await using opened = open(null)
  assert.equal(opened.traces, noTraces)
  assert.equal(opened.traces.start(undefined, 'poll'), noSpan)
  assert.equal(await noSpan.within('download', async () => 7), 7)
})

it("a request continues the client's trace, or begins one", async () => {
  await using opened = open({})
  const own = opened.traces.receive(sampled)
  assert.deepEqual([own.traceId, own.parentId, own.isSampled], [traceId, parentId, true])
  assert.match(own.spanId, /^[0-9a-f]{16}$/)
  const begun = [opened.traces.receive(undefined), opened.traces.receive('nonsense')]
  for (const { parentId: before } of begun) assert.equal(before, null)
  assert.notEqual(begun[0]?.traceId, begun[1]?.traceId)
})

it('samplers decide as OpenTelemetry says: the client first, if they are parent-based', async () => {
  const decisions = async (changes: Partial<TraceSettings>) => {
    await using opened = open(changes)
    return [sampled, unsampled, undefined].map((header) => opened.traces.receive(header).isSampled)
  }
  assert.deepEqual(await decisions({}), [true, false, true])
  assert.deepEqual(await decisions({ sampler: 'always_off' }), [true, false, false])
  assert.deepEqual(await decisions({ sampler: 'traceidratio', ratio: 0 }), [true, false, false])
  assert.deepEqual(await decisions({ isParentBased: false }), [true, true, true])
  assert.deepEqual(await decisions({ isParentBased: false, sampler: 'always_off' }), [false, false, false])
})

it('work in a span returns its result, and throws its error', async () => {
  await using opened = open({})
  const span = opened.traces.start(opened.traces.receive(unsampled), 'collect')
  assert.equal(await span.within('download', async () => 7), 7)
  const broken = new Error('broken')
  await assert.rejects(
    span.within('verify', () => Promise.reject(broken)),
    broken,
  )
})

it('a task without a sampled trace has no spans, so its rows are not read', async () => {
  await using opened = open({})
  const read = () => assert.fail('its rows are read')
  const records = { store: { attempts: read, events: read, entries: read }, accounts: new Map() }
  for (const trace of [null, unsampled, 'damaged'])
    await opened.traces.recordTask(records, { task: newTask('1', { trace }), at: 9_000 })
})

it('the end waits for what is still read, and ignores its failures', async () => {
  const read = Promise.withResolvers<void>()
  let isRead = false
  {
    await using opened = open({})
    opened.traces.later(() => Promise.reject(new Error('away')))
    opened.traces.later(async () => {
      await read.promise
      isRead = true
    })
    setImmediate(read.resolve)
  }
  assert.ok(isRead)
})
