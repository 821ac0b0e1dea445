import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { startCollector } from './collector.ts'
import { freePort } from './free-port.ts'
import { until } from './service.ts'
import { assertTracedOverKill } from './trace-world.ts'

/*
 * `npm run test:collector`: traces go through a real OpenTelemetry collector, which passes them on as OTLP in JSON. It is
 * built once by the builder of the collector, which needs Go and a few minutes.
 */

const version = 'v0.160.0'
const cache = join(import.meta.dirname, `../node_modules/.cache/filmgate-collector-${version}`)

/** Returns the program. */
async function build(): Promise<string> {
  const program = join(cache, 'otelcol')
  if (existsSync(program)) return program
  mkdirSync(cache, { recursive: true })
  const part = (path: string) => ({ gomod: `go.opentelemetry.io/collector/${path} ${version}` })
  const wanted = {
    dist: { name: 'otelcol', output_path: cache },
    receivers: [part('receiver/otlpreceiver')],
    exporters: [part('exporter/otlphttpexporter')],
  }
  const file = join(cache, 'builder.yaml')
  // JSON is YAML, too.
  writeFileSync(file, JSON.stringify(wanted))
  const builder = ['run', `go.opentelemetry.io/collector/cmd/builder@${version}`, '--config', file]
  await promisify(execFile)('go', builder, { timeout: 1_200_000, maxBuffer: 2 ** 26 })
  return program
}

/** A collector on a free port, which sends what it receives to that address. Returns its own. */
async function startReal(program: string, to: string, stack: AsyncDisposableStack): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-collector-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const endpoint = `127.0.0.1:${await freePort()}`
  const file = join(folder, 'config.yaml')
  const settings = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { otlphttp: { endpoint: to, encoding: 'json', compression: 'none' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
    },
  }
  writeFileSync(file, JSON.stringify(settings))
  const child = spawn(program, ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  stack.defer(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  await until('the collector is ready', () => {
    assert.equal(child.exitCode, null, said)
    return said.includes('Everything is ready')
  })
  return `http://${endpoint}`
}

it('a real collector receives a task whose worker is killed in the middle as one connected trace', async () => {
  const program = await build()
  await using stack = new AsyncDisposableStack()
  const collector = stack.use(await startCollector())
  await assertTracedOverKill(collector, await startReal(program, collector.url, stack))
})
