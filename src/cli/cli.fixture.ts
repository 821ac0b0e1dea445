import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'filmgate.js')

/** Disposed, it is killed: a test that failed half-way must not leave it waiting for its server. */
export interface CliRun extends AsyncDisposable {
  child: ChildProcess
  output: { stdout: string; stderr: string }
  /** Resolves when stderr has it, or rejects when the process ended without. */
  says(what: RegExp): Promise<void>
  exit: Promise<{ code: number | null; stdout: string; stderr: string }>
}

interface RunOptions {
  env?: Record<string, string>
  cwd: string
  /** What is piped in. */
  input?: string
}

/** The real command line in a process of its own. */
export function startCli(args: string[], { env = {}, cwd, input = '' }: RunOptions): CliRun {
  const child = spawn(process.execPath, [launcher, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  const output = { stdout: '', stderr: '' }
  const said = new EventTarget()
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk
    said.dispatchEvent(new Event('more'))
  })
  const exit = once(child, 'close').then(([code]) => ({ code, ...output }))
  return {
    child,
    output,
    exit,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
    },
    async says(what) {
      while (!what.test(output.stderr)) {
        const more = once(said, 'more').then(() => 'more')
        const ended = exit.then(() => 'ended')
        if ((await Promise.race([more, ended])) === 'ended' && !what.test(output.stderr))
          throw new Error(`it ended without saying ${what}: ${output.stderr}`)
      }
    },
  }
}

export async function runCli(args: string[], options: RunOptions) {
  return startCli(args, options).exit
}

export interface FakeTask {
  id: string
  model: string
  prompt: string | null
  status: string
  created_at: number
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => boolean | undefined

/** A Videos API whose responses a test may replace. It completes each task at once, with a video of eight bytes. */
export interface FakeApi extends AsyncDisposable {
  url: string
  tasks: FakeTask[]
  /** Every request as `METHOD /path`, in order. */
  requests: string[]
  /** The Idempotency-Key of each submit. */
  keys: string[]
  /** The X-Stainless-Retry-Count of each submit. */
  retries: (string | undefined)[]
  /** Tried first; true if it has responded, or does not want a response. */
  handle: Handler
}

export async function startFakeApi(handle: Handler = () => false): Promise<FakeApi> {
  const api: Omit<FakeApi, keyof AsyncDisposable> = { url: '', tasks: [], requests: [], keys: [], retries: [], handle }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const path = request.url?.split('?')[0] ?? ''
    api.requests.push(`${request.method} ${path}`)
    if (request.method === 'POST') {
      api.keys.push(String(request.headers['idempotency-key']))
      api.retries.push(request.headers['x-stainless-retry-count']?.toString())
    }
    if (!api.handle(request, response, body)) respond(api, request, response, body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(api, {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

export const filmBytes = Buffer.from('ftypfilm')

export function send(response: ServerResponse, status: number, json: unknown, headers = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json))
  return true
}

/** Adds a task, as a submit does. */
export function addTask(api: Pick<FakeApi, 'tasks'>, body: string): FakeTask {
  const { prompt, model } = JSON.parse(body)
  const id = `video_${String(api.tasks.length).padStart(8, '0')}`
  const task = { id, object: 'video', model, prompt, status: 'completed', created_at: Math.floor(Date.now() / 1000) }
  api.tasks.unshift(task)
  return task
}

function respond(
  api: Omit<FakeApi, keyof AsyncDisposable>,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
) {
  const [, , resource, id, part] = request.url?.split('?')[0]?.split('/') ?? []
  const task = api.tasks.find((one) => one.id === id)
  if (resource === 'models') return send(response, 200, { object: 'list', data: [{ id: 'fake', object: 'model' }] })
  if (request.method === 'POST') return send(response, 200, addTask(api, body))
  if (id === undefined) return send(response, 200, { object: 'list', data: api.tasks, has_more: false })
  if (!task) return send(response, 404, { error: { message: 'no such video' } })
  if (part === 'content') return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(filmBytes)
  return send(response, 200, task, { 'openai-poll-after-ms': '100' })
}
