import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { loadConfig } from '../src/config.ts'
import type { Clock } from '../src/core/clock.ts'
import { type Service, start, type World } from '../src/main.ts'
import { providers } from '../src/providers/index.ts'

/** A whole service for a test, on a free port and with an empty data folder. */
export interface TestService extends AsyncDisposable {
  readonly url: string
  readonly data: string
  readonly log: string[]
  /** Of the last start. */
  warnings(): readonly string[]
  /** A request with the default token, unless the headers say otherwise. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** POSTs JSON to /v1/videos. */
  submit(body: unknown, headers?: Record<string, string>): Promise<Response>
  /** Polls until the task is completed or failed. */
  finish(id: string): Promise<Record<string, unknown>>
  /** A request below /operator/v1 with the operator token. Throws unless the status is 200. */
  operator<Answer = Record<string, unknown>>(path: string, method?: 'GET' | 'POST'): Promise<Answer>
  /** Restarts the service, with another configuration if one is given. */
  restart(yaml?: string): Promise<void>
}

export const token = 'My API Key'
export const operatorToken = 'operator key'

export interface TestOptions {
  yaml?: string
  env?: Record<string, string>
  world?: Partial<World>
  /** The providers that the configuration and the service know. */
  members?: World['members']
}

export async function startService(options: TestOptions = {}): Promise<TestService> {
  const { yaml = '', env = {}, world = {}, members = providers } = options
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-test-'))
  const config = join(folder, 'filmgate.yaml')
  writeFileSync(config, yaml)
  const data = join(folder, 'data')
  const log: string[] = []
  // Whether this checkout has built its console must not matter.
  const consoleFolder = join(folder, 'console')
  const files = { FILMGATE_DATA: data, FILMGATE_CONFIG: config }
  const tokens = { FILMGATE_TOKEN: token, ...(options.members && { FILMGATE_OPERATOR_TOKEN: operatorToken }) }
  // The space on this machine must not matter.
  const settings = { FILMGATE_PORT: '0', FILMGATE_DISK_RESERVE: '0', ...files, ...tokens, ...env }
  const open = () => {
    const loaded = loadConfig({ flags: {}, env: settings, members })
    return start(loaded, { writeLog: (line) => log.push(line), members, consoleFolder, ...world })
  }
  let service: Service = await open()

  const request = (path: string, init: RequestInit = {}) =>
    fetch(`${service.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })

  return {
    get url() {
      return service.url
    },
    data,
    log,
    fetch: request,
    submit: (body, headers) =>
      request('/v1/videos', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async finish(id) {
      for (;;) {
        const task = (await (await request(`/v1/videos/${id}`)).json()) as Record<string, unknown>
        if (task.status === 'completed' || task.status === 'failed') return task
        await setTimeout(50)
      }
    },
    async operator<Answer>(path: string, method: 'GET' | 'POST' = 'GET') {
      const headers = { authorization: `Bearer ${operatorToken}`, connection: 'close' }
      const response = await request(`/operator/v1${path}`, { method, headers })
      if (response.status !== 200) throw new Error(`${path} returned ${response.status}`)
      return (await response.json()) as Answer
    },
    warnings: () => service.warnings,
    async restart(other) {
      if (other !== undefined) writeFileSync(config, other)
      await service[Symbol.asyncDispose]()
      service = await open()
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}

type Falsy = false | null | undefined | 0 | ''

/** Waits until `look` returns something truthy. Throws with `description` if it never does. */
export async function until<T>(description: string, look: () => T | Promise<T>, everyMs = 50) {
  // Longer than any retry delay, even on a machine that is busy with other tests.
  const end = Date.now() + 120_000
  for (;;) {
    const seen = await look()
    if (seen) return seen as Exclude<T, Falsy>
    if (Date.now() > end) throw new Error(`timed out: ${description}`)
    await setTimeout(everyMs)
  }
}

/** The real time, which a test can advance by hours. Sleeps are real, so a jump is noticed within a second. */
export function jumpingClock(): Clock & { jump(ms: number): void } {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    sleep: (ms, signal) => setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {}),
    jump(ms) {
      ahead += ms
    },
  }
}
