import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { Ledger } from '../../simulators/upstream.ts'
import { until } from '../service.ts'
import { secrets } from './kill-clients.ts'

/*
 * Measures the window in which a crash leaves a task unknown: from the COMMIT of its attempt until the engine has the head
 * of the request. `node test/faults/window.ts [--clients 16] [--tasks 600]`: a real service, an engine on loopback, clients
 * that submit as fast as they get responses, and then a single one.
 */
export interface WindowOptions {
  clients: number
  tasks: number
}

/** In milliseconds, from the shortest to the longest. */
export async function measureWindow({ clients, tasks }: WindowOptions): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-window-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const engine = await start(['window-engine.ts'], {}, stack)
  const commits = join(folder, 'commits')
  writeFileSync(commits, '')
  const env = {
    FILMGATE_PORT: '0',
    FILMGATE_DATA: join(folder, 'data'),
    FILMGATE_CONFIG: join(folder, 'filmgate.yaml'),
    FILMGATE_TOKEN: secrets.client,
    FILMGATE_OPERATOR_TOKEN: secrets.operator,
    WINDOW_COMMITS: commits,
  }
  writeFileSync(env.FILMGATE_CONFIG, yamlFor(engine))
  const preload = new URL('window-commits.ts', import.meta.url).href
  const service = await start(['--import', preload, 'kill-service.ts'], env, stack)
  const prompts = await submitAll(service, { clients, tasks })
  const arrivals = await until('the engine has them all', async () => {
    const { arrivals } = (await (await fetch(`${engine}/ledger`)).json()) as Ledger
    const submits = arrivals.filter(({ ask }) => ask === 'submit')
    return submits.length >= tasks && submits
  })
  const arrivedAt = new Map(arrivals.map(({ prompt, at }) => [prompt, at]))
  // The last attempt of a task: one that was not sent is followed by another.
  const committedAt = new Map<string, number>()
  for (const line of readFileSync(commits, 'utf8').trimEnd().split('\n')) {
    const { task, at } = JSON.parse(line) as { task: string; at: number }
    committedAt.set(prompts.get(task) ?? '', at)
  }
  const windows = [...committedAt].map(([prompt, at]) => (arrivedAt.get(prompt) ?? Number.NaN) - at)
  if (windows.length !== tasks || windows.some(Number.isNaN)) throw new Error('not every attempt was seen')
  return windows.sort((one, other) => one - other)
}

/** The window that this share of the tasks stays within. */
export function quantile(windows: readonly number[], share: number): number {
  return windows[Math.min(windows.length - 1, Math.floor(windows.length * share))] ?? Number.NaN
}

export function describeWindow({ clients, tasks }: WindowOptions, windows: readonly number[]): string {
  const at = (share: number) => quantile(windows, share).toFixed(1)
  return `${clients} clients, ${tasks} tasks: from commit to request p50 ${at(0.5)} ms, p90 ${at(0.9)}, p99 ${at(0.99)}, longest ${at(1)}`
}

/** Runs a script of this folder, and resolves with the line that has its address. */
async function start(args: string[], env: Record<string, string>, stack: AsyncDisposableStack): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const exit = once(child, 'exit')
  stack.defer(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const listening = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  const ended = exit.then(() => Promise.reject(new Error(`${args.at(-1)} ended`)))
  ended.catch(() => {})
  return String((await Promise.race([listening, ended]))[0])
}

function yamlFor(engine: string): string {
  const concurrency = 10_000
  return JSON.stringify({
    accounts: { studio: { enabled: false } },
    engines: [{ url: engine, name: 'engine', concurrency }],
    models: { film: { account: 'engine', model: 'film', concurrency } },
  })
}

/** The prompt of each task. */
async function submitAll(url: string, { clients, tasks }: WindowOptions): Promise<Map<string, string>> {
  const prompts = new Map<string, string>()
  let begun = 0
  const headers = { authorization: `Bearer ${secrets.client}`, 'content-type': 'application/json' }
  const client = async () => {
    while (begun < tasks) {
      const prompt = `film ${begun++}`
      const body = JSON.stringify({ model: 'film', prompt })
      const answer = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body })
      if (answer.status !== 200) throw new Error(`a submit got ${answer.status}: ${await answer.text()}`)
      prompts.set(((await answer.json()) as { id: string }).id, prompt)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return prompts
}

if (import.meta.main) {
  const options = { clients: { type: 'string', default: '16' }, tasks: { type: 'string', default: '600' } } as const
  const { values } = parseArgs({ options })
  const [clients, tasks] = [Number(values.clients), Number(values.tasks)]
  for (const one of [
    { clients, tasks },
    { clients: 1, tasks: Math.ceil(tasks / 4) },
  ]) {
    const windows = await measureWindow(one)
    process.stdout.write(`${describeWindow(one, windows)}\n`)
  }
}
