import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../free-port.ts'

const [program, tool] = ['/usr/bin/prometheus', '/usr/bin/promtool']

/** Debian's Prometheus on a free port of the loopback. */
interface Prometheus extends AsyncDisposable {
  /** The values of the series that an expression finds now. */
  query(expression: string): Promise<number[]>
}

/** Scrapes the metrics of these services every second, with that operator token. */
export async function startPrometheus(urls: readonly string[], secret: string): Promise<Prometheus> {
  requireInstalled()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-prometheus-'))
  const at = `127.0.0.1:${await freePort()}`
  const targets = urls.map((url) => new URL(url).host)
  const scrape = { job_name: 'filmgate', authorization: { credentials: secret }, static_configs: [{ targets }] }
  const times = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' }
  const file = join(folder, 'prometheus.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ global: times, scrape_configs: [scrape] }))
  const places = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=${at}`]
  const server = spawn(program, [...places, '--log.level=error'], { cwd: folder, stdio: 'ignore' })
  process.once('exit', () => server.kill('SIGKILL'))
  while (!(await isReady(`http://${at}/-/ready`))) {
    if (server.exitCode !== null) throw new Error(`Prometheus ended with ${server.exitCode}`)
    await pause(50)
  }
  return {
    async query(expression) {
      const response = await fetch(`http://${at}/api/v1/query?${new URLSearchParams({ query: expression })}`)
      const { data } = (await response.json()) as { data?: { result: { value: [number, string] }[] } }
      if (!data) throw new Error(`Prometheus can't evaluate ${expression}`)
      return data.result.map(({ value }) => Number(value[1]))
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
  requireInstalled()
  const { status, stdout, stderr } = spawnSync(tool, ['check', 'metrics'], { input: text, encoding: 'utf8' })
  return status === 0 ? '' : `${stdout}${stderr}` || `it ended with ${status}`
}

function requireInstalled(): void {
  for (const path of [program, tool])
    if (!existsSync(path)) throw new Error(`there is no ${path}: apt-get install prometheus`)
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
