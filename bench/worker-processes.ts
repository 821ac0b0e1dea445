import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Ledger, Orders } from '../simulators/upstream.ts'
import type { TestS3 } from '../test/services/s3.ts'

export interface Running extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

export interface Simulator extends Running {
  /** How often its jobs were polled. */
  polls(): Promise<number>
  ledger(): Promise<Ledger>
  tell(orders: Orders): Promise<void>
}

interface WorkerOptions {
  data: string
  config: string
  store: string
  s3: TestS3
}

/** The real service with the simulated provider, in the role of a worker. */
export async function startWorker({ data, config, store, s3 }: WorkerOptions): Promise<Running> {
  const script = fileURLToPath(new URL('../test/faults/kill-service.ts', import.meta.url))
  const env = {
    PATH: process.env.PATH ?? '',
    FILMGATE_ROLE: 'worker',
    FILMGATE_PORT: '0',
    FILMGATE_TOKEN: 'bench',
    FILMGATE_DATA: data,
    FILMGATE_CONFIG: config,
    FILMGATE_STORE: store,
    FILMGATE_BUCKET: `s3://${s3.bucket}/films?endpoint=${encodeURIComponent(s3.endpoint)}&path_style=true`,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  }
  const { child, line } = await startScript([script, '0'], env, `${data}.log`)
  return running(child, line, 'SIGTERM')
}

/** The real service with the simulated provider, on its data folder alone: API and engine in one process. */
export async function startService(
  { data, config }: Pick<WorkerOptions, 'data' | 'config'>,
  nodeOptions = '',
  more: Record<string, string> = {},
): Promise<Running> {
  const script = fileURLToPath(new URL('../test/faults/kill-service.ts', import.meta.url))
  const env = {
    PATH: process.env.PATH ?? '',
    FILMGATE_PORT: '0',
    FILMGATE_RATE: '0',
    ...(knows('FILMGATE_QUEUED') && { FILMGATE_QUEUED: '0' }),
    FILMGATE_OPERATOR_TOKEN: 'bench-operator',
    FILMGATE_DATA: data,
    FILMGATE_CONFIG: config,
    NODE_OPTIONS: nodeOptions,
    // As the launcher sets it: without it, the code that strips types stays in memory.
    NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/filmgate', import.meta.url)),
    ...more,
  }
  const { child, line } = await startScript([script, '0'], env, `${data}.log`)
  return running(child, line, 'SIGTERM')
}

/** An older source, which is compared with this one, refuses settings that it does not know. */
export function knows(setting: string): boolean {
  return readFileSync(new URL('../src/config/settings.ts', import.meta.url), 'utf8').includes(setting)
}

/** Every job returns `film`, or a tiny one. */
export async function startSimulator(orders: Orders, film?: string): Promise<Simulator> {
  const script = fileURLToPath(new URL('../simulators/upstream.ts', import.meta.url))
  const env = { PATH: process.env.PATH ?? '' }
  const { child, line } = await startScript(
    [script, '--mode', 'key', '--orders', JSON.stringify(orders), ...(film === undefined ? [] : ['--film', film])],
    env,
    '/dev/null',
  )
  const { url } = JSON.parse(line) as { url: string }
  const ledger = async () => (await (await fetch(`${url}/ledger`)).json()) as Ledger
  return {
    ...running(child, url, 'SIGKILL'),
    ledger,
    async polls() {
      const { requests, submits } = await ledger()
      // Beside polls there are one submit and one download for each task: all are finished when this is called.
      return requests - 2 * submits
    },
    async tell(orders) {
      await (await fetch(`${url}/faults`, { method: 'POST', body: JSON.stringify(orders) })).text()
    },
  }
}

/** Returns when the script has printed its first line. */
async function startScript(args: string[], env: Record<string, string>, log: string): Promise<Started> {
  const errors = openSync(log, 'w')
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', errors] })
  closeSync(errors)
  // Also if the bench fails.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const printed = once(createInterface({ input: child.stdout as Readable }), 'line')
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${args[0]} did not start: ${readFileSync(log, 'utf8').slice(-2_000)}`)
  })
  ended.catch(() => {})
  const [line] = await Promise.race([printed, ended])
  return { child, line: String(line) }
}

interface Started {
  child: ChildProcess
  line: string
}

function running(child: ChildProcess, url: string, signal: NodeJS.Signals): Running {
  // Not caught, so that the bench ends: it would wait for its tasks for ever.
  const fail = () => {
    throw new Error(`${child.spawnargs.slice(1).join(' ')} ended by itself`)
  }
  child.once('exit', fail)
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.off('exit', fail)
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}
