import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CollectedSpan, Collector } from './collector.ts'
import { spawnServer } from './process.ts'
import { type ScriptedUpstream, startScripted } from './scripted-upstream.ts'
import { token, until } from './service.ts'

export const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
export const clientSpan = '00f067aa0ba902b7'
export const traceparent = `00-${traceId}-${clientSpan}-01`
export const prompt = 'the most secret fox'
export const body = JSON.stringify({ model: 'film', prompt, seconds: '4' })

export function yamlOf(upstream: ScriptedUpstream, allowed: number[] = []): string {
  return JSON.stringify({
    accounts: { main: { provider: 'openai', base_url: upstream.url, key: 'the-key-of-the-upstream' } },
    models: { film: { account: 'main' } },
    outbound: { allow: allowed.map((port) => `127.0.0.1:${port}`) },
  })
}

export async function idOf(response: Response): Promise<string> {
  const video = (await response.json()) as { id: string }
  assert.equal(response.status, 200, JSON.stringify(video))
  return video.id
}

/** Every span hangs on another one of the trace, and the first on the client's. */
export function assertConnected(spans: readonly CollectedSpan[]): void {
  const known = new Set(spans.map(({ spanId }) => spanId))
  const loose = spans.filter(({ parentSpanId }) => !known.has(parentSpanId))
  assert.deepEqual(
    loose.map(({ name, parentSpanId }) => [name, parentSpanId]),
    [['POST /v1/videos', clientSpan]],
  )
}

/**
 * A task whose worker is killed in the middle is still one connected trace. Its spans are sent to `endpoint`, and the
 * collector has them in the end.
 */
export async function assertTracedOverKill(collector: Collector, endpoint: string): Promise<void> {
  await using upstream = await startScripted()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-traces-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'filmgate.yaml'), yamlOf(upstream))
  const env = {
    FILMGATE_CONFIG: join(folder, 'filmgate.yaml'),
    FILMGATE_TOKEN: token,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
  const serve = () => spawnServer({ args: ['--data', join(folder, 'data')], env })
  const polls = () => collector.spans(traceId).filter(({ name }) => name === 'poll')
  upstream.status = 'in_progress'
  let id = ''
  {
    await using first = serve()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', traceparent }
    id = await idOf(await fetch(`${await first.url}/v1/videos`, { method: 'POST', headers, body }))
    await until('it was polled', () => polls().length > 0)
    first.child.kill('SIGKILL')
    await first.exit
  }
  upstream.status = 'completed'
  await using second = serve()
  await second.url
  const ended = () => collector.spans(traceId).filter(({ name }) => name === 'video film')
  await until('it ended', () => ended().length > 0)
  // The spans of its end are sent together, but not always in one batch.
  const parts = ['queue', 'collect', 'download', 'verify', 'store']
  await until('all was sent', () => {
    const names = new Set(collector.spans(traceId).map(({ name }) => name))
    return parts.every((part) => names.has(part)) && [...names].some((name) => name.startsWith('generate_content '))
  })
  const spans = collector.spans(traceId)
  assertConnected(spans)
  assert.deepEqual(
    ended().map(({ attributes }) => [attributes['filmgate.task.id'], attributes['filmgate.outcome']]),
    [[id, 'completed']],
  )
  const attempts = spans.filter(({ name }) => name.startsWith('generate_content '))
  assert.equal(attempts.length, 1)
  const processes = new Set(polls().map(({ resource }) => resource['service.instance.id']))
  assert.equal(processes.size, 2, 'both processes polled it')
  for (const { parentSpanId } of polls()) assert.equal(parentSpanId, attempts[0]?.spanId)
}
