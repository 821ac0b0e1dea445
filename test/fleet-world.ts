import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Mode, startUpstream, type Upstream } from '../simulators/upstream.ts'
import type { Role } from '../src/config/places.ts'
import { secrets } from './faults/kill-clients.ts'
import { type Gate, startGate } from './gate.ts'
import { startPostgres } from './services/postgres.ts'
import { startS3, type TestS3 } from './services/s3.ts'

/* Processes that share a PostgreSQL, an S3 server and an upstream, for tests that control the order of events. */

/** A process of the service, with the simulated providers. */
export interface FleetProcess {
  readonly url: string
  readonly child: ChildProcess
  /** All it has logged so far. */
  log(): string
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export interface FleetWorld extends AsyncDisposable {
  readonly upstream: Upstream
  readonly s3: TestS3
  /** Between the processes and the upstream, and between them and S3. */
  readonly gates: { upstream: Gate; s3: Gate }
  readonly settings: Record<string, string>
  sql(text: string): Promise<Record<string, unknown>[]>
  start(name: string, role: Role, env?: Record<string, string>): Promise<FleetProcess>
}

/** Longer than any pause here: a late response must still be read. */
const silenceMs = 60_000

export async function openFleet(mode: Mode): Promise<FleetWorld> {
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-fleet-world-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const postgres = stack.use(await startPostgres({ fsync: 'off' }))
  const s3 = stack.use(await startS3())
  const upstream = stack.use(await startUpstream({ mode }))
  const gates = { upstream: stack.use(await startGate(upstream.url)), s3: stack.use(await startGate(s3.endpoint)) }
  const config = join(folder, 'filmgate.yaml')
  const account = { base_url: gates.upstream.url, key: 'the upstream key', concurrency: 100 }
  writeFileSync(config, JSON.stringify({ accounts: { [`sim-${mode}`]: account } }))
  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  stack.defer(() => database.end())
  const settings = {
    PATH: process.env.PATH ?? '',
    FILMGATE_PORT: '0',
    FILMGATE_CONFIG: config,
    FILMGATE_STORE: postgres.url,
    FILMGATE_BUCKET: `s3://${s3.bucket}/films?endpoint=${encodeURIComponent(gates.s3.url)}&path_style=true`,
    FILMGATE_TOKEN: secrets.client,
    FILMGATE_OPERATOR_TOKEN: secrets.operator,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  }
  const start: FleetWorld['start'] = async (name, role, env = {}) => {
    const own = { FILMGATE_ROLE: role, FILMGATE_DATA: join(folder, name) }
    const script = join(import.meta.dirname, 'faults/kill-service.ts')
    const child = spawn(process.execPath, [script, '0', String(silenceMs)], {
      env: { ...settings, ...own, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
    resources.defer(async () => {
      child.kill('SIGKILL')
      await exit
    })
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    const listening = once(createInterface({ input: child.stdout }), 'line')
    const failed = exit.then(() => Promise.reject(new Error(`${name} ended: ${log}`)))
    failed.catch(() => {})
    const [url] = await Promise.race([listening, failed])
    return { url: String(url), child, log: () => log, exit }
  }
  const resources = stack.move()
  return {
    upstream,
    s3,
    gates,
    settings,
    start,
    sql: async (text) => (await database.query(text)).rows,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Like `until`, but waits longer: leases have to end, and the machine may be busy. */
export async function comes<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + 90_000; ; ) {
    const seen = await look()
    if (seen) return seen
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await pause(50)
  }
}

const authorization = `Bearer ${secrets.client}`

export function ask({ url }: { url: string }, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${url}${path}`, { ...init, headers: { authorization, connection: 'close', ...init.headers } })
}

export async function submit(to: { url: string }, model: string, prompt: string, more: object = {}): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await ask(to, '/v1/videos', {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, prompt, ...more }),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`a submit got ${answer.status}: ${text}`)
  return (JSON.parse(text) as { id: string }).id
}

export async function finish(at: { url: string }, id: string): Promise<void> {
  await comes(`${id} is completed`, async () => {
    const { status, error } = (await (await ask(at, `/v1/videos/${id}`)).json()) as { status: string; error: unknown }
    if (status === 'failed') throw new Error(`${id} failed: ${JSON.stringify(error)}`)
    return status === 'completed'
  })
}
