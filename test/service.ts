import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../src/config.ts'
import { type Service, start, type World } from '../src/main.ts'

/** A whole service of its own, on a free port and an empty data folder, that a test can talk to. */
export interface TestService extends AsyncDisposable {
  readonly url: string
  readonly data: string
  readonly log: string[]
  /** A request with the default token, unless the headers say otherwise. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** POSTs JSON to /v1/videos. */
  submit(body: unknown, headers?: Record<string, string>): Promise<Response>
  /** Polls until the task is completed or failed. */
  finish(id: string): Promise<Record<string, unknown>>
  restart(): Promise<void>
}

export const token = 'My API Key'

export interface TestOptions {
  yaml?: string
  env?: Record<string, string>
  world?: Partial<World>
}

export async function startService({ yaml = '', env = {}, world = {} }: TestOptions = {}): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-test-'))
  const config = join(folder, 'filmgate.yaml')
  writeFileSync(config, yaml)
  const data = join(folder, 'data')
  const log: string[] = []
  const settings = { FILMGATE_PORT: '0', FILMGATE_DATA: data, FILMGATE_CONFIG: config, FILMGATE_TOKEN: token, ...env }
  const open = () => start(loadConfig({ flags: {}, env: settings }), { writeLog: (line) => log.push(line), ...world })
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
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async restart() {
      await service[Symbol.asyncDispose]()
      service = await open()
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}
