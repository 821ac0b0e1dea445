import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { until } from '../service.ts'

const [program, tool] = ['prometheus', 'promtool']

/** Debian's Prometheus on a free port of the loopback. */
interface Prometheus extends AsyncDisposable {
  /** The values of the series that an expression finds now. */
  query(expression: string): Promise<number[]>
  /** The rules of its rule files. */
  rules(): Promise<Rule[]>
}

interface Rule {
  name: string
  health: 'ok' | 'err' | 'unknown'
  /** Of an alert. */
  state?: 'inactive' | 'pending' | 'firing'
}

/** Scrapes these services every second, with that operator token, and evaluates the rules of these files. */
export async function startPrometheus(
  urls: readonly string[],
  secret: string,
  ruleFiles: readonly string[] = [],
): Promise<Prometheus> {
  requireInstalled()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-prometheus-'))
  const at = `127.0.0.1:${await freePort()}`
  const targets = urls.map((url) => new URL(url).host)
  const scrape = { job_name: 'filmgate', authorization: { credentials: secret }, static_configs: [{ targets }] }
  const times = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' }
  const file = join(folder, 'prometheus.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ global: times, rule_files: ruleFiles, scrape_configs: [scrape] }))
  const places = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=${at}`]
  const server = spawn(program, [...places, '--log.level=error'], { cwd: folder, stdio: 'ignore' })
  process.once('exit', () => server.kill('SIGKILL'))
  await until('Prometheus is ready', () => {
    if (server.exitCode !== null) throw new Error(`Prometheus ended with ${server.exitCode}`)
    return isReady(`http://${at}/-/ready`)
  })
  const call = async (path: string, query: Record<string, string> = {}) => {
    const response = await fetch(`http://${at}/api/v1/${path}?${new URLSearchParams(query)}`)
    const { data, error } = (await response.json()) as { data?: unknown; error?: string }
    if (!data) throw new Error(`Prometheus responds to ${path} ${JSON.stringify(query)}: ${error}`)
    return data
  }
  return {
    async query(expression) {
      const { result } = (await call('query', { query: expression })) as { result: { value: [number, string] }[] }
      return result.map(({ value }) => Number(value[1]))
    },
    async rules() {
      const { groups } = (await call('rules')) as { groups: { rules: Rule[] }[] }
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

/** What `promtool check metrics` complains about; empty if nothing. */
export function checkMetrics(text: string): string {
  return runPromtool(['check', 'metrics'], text)
}

/** What promtool complains about; empty if nothing. */
export function runPromtool(args: readonly string[], input = ''): string {
  requireInstalled()
  const { status, stdout, stderr } = spawnSync(tool, args, { input, encoding: 'utf8' })
  return status === 0 ? '' : `${stdout}${stderr}` || `it ended with ${status}`
}

function requireInstalled(): void {
  for (const name of [program, tool])
    if (spawnSync(name, ['--version']).error) throw new Error(`there is no ${name}: apt-get install prometheus`)
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
