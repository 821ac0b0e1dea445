import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { until } from '../service.ts'

/** A series of a result, with its value now. */
interface PrometheusSample {
  metric: Record<string, string>
  value: [at: number, value: string]
}

interface PrometheusRule {
  name: string
  health: 'ok' | 'err' | 'unknown'
  lastError?: string
  /** Of an alert. */
  state?: 'inactive' | 'pending' | 'firing'
}

interface Prometheus extends AsyncDisposable {
  /** Throws if the expression is not valid. */
  query(expression: string): Promise<PrometheusSample[]>
  rules(): Promise<PrometheusRule[]>
}

/** A Prometheus from Debian's package, with that configuration, on a free port of the loopback. */
export async function startPrometheus(config: object): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-prometheus-'))
  const port = await freePort()
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config))
  const places = [`--config.file=${join(folder, 'prometheus.yaml')}`, `--storage.tsdb.path=${join(folder, 'data')}`]
  const args = [...places, `--web.listen-address=127.0.0.1:${port}`, '--log.level=warn']
  const server = spawn('prometheus', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  server.once('error', () => {})
  process.once('exit', () => server.kill('SIGKILL'))
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
  const call = async (path: string) => {
    const response = await get(`/api/v1/${path}`)
    const { status, error, data } = (await response.json()) as { status: string; error?: string; data: unknown }
    if (status !== 'success') throw new Error(`${path}: ${error}`)
    return data
  }
  await until('Prometheus is ready', async () => {
    if (server.pid === undefined) throw new Error('Prometheus is not installed: apt-get install prometheus')
    if (server.exitCode !== null) throw new Error(`Prometheus ended with ${server.exitCode}`)
    const ready = await get('/-/ready').catch(() => null)
    return ready?.ok
  })
  return {
    async query(expression) {
      const { result } = (await call(`query?query=${encodeURIComponent(expression)}`)) as { result: PrometheusSample[] }
      return result
    },
    async rules() {
      const { groups } = (await call('rules')) as { groups: { rules: PrometheusRule[] }[] }
      return groups.flatMap(({ rules }) => rules)
    },
    async [Symbol.asyncDispose]() {
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

/** The output of `promtool`. Throws with it if promtool found a mistake. */
export function runPromtool(...args: string[]): string {
  try {
    return execFileSync('promtool', args, { encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: string; stdout?: string; stderr?: string }
    if (code === 'ENOENT') throw new Error('promtool is not installed: apt-get install prometheus')
    throw new Error(`promtool ${args.join(' ')}\n${stdout}${stderr}`)
  }
}
