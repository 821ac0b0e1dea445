import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import OpenAI from 'openai-7.53'
import type { World } from '../src/main.ts'
import { operatorToken, startService, type TestService, token, until } from './service.ts'

/* A whole service, and receivers of webhooks on this machine. */

export interface Received {
  headers: IncomingHttpHeaders & Record<string, string>
  body: string
  path: string
}

type Handle = (received: Received, response: ServerResponse) => void | Promise<void>

/** An HTTP server that keeps what it receives, and responds with 200 unless the test says otherwise. */
export interface Receiver extends AsyncDisposable {
  readonly port: number
  readonly url: string
  readonly all: Received[]
  handle: Handle
  /** Closes the port until `up`. */
  down(): Promise<void>
  up(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  let port = 0
  const open = async () => {
    const server = createServer(async (request, response) => {
      if (request.method !== 'POST') return void response.writeHead(404).end()
      const received = { headers: request.headers, body: await text(request), path: request.url ?? '' } as Received
      receiver.all.push(received)
      await receiver.handle(received, response)
    })
    await once(server.listen(port, '127.0.0.1'), 'listening')
    const address = server.address()
    port = typeof address === 'object' ? (address?.port ?? 0) : 0
    return server
  }
  let server = await open()
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  const receiver: Receiver = {
    port,
    url: `http://127.0.0.1:${port}`,
    all: [],
    handle: (_, response) => void response.end('ok'),
    down: close,
    async up() {
      server = await open()
    },
    [Symbol.asyncDispose]: close,
  }
  return receiver
}

export interface Delivery {
  id: string
  state: string
  event_type: string
  video_id: string
  next_try_at: number | null
  ended_at: number | null
  tries: { at: number; status_code: number | null; error: string | null; took_ms: number }[]
}

export interface Endpoint {
  id: string
  signing_secret: string
  signing_secret_hint: string
  disabled_at: number | null
  disabled_reason: string | null
  updated_at: number
}

export class WebhookWorld implements AsyncDisposable {
  readonly receiver: Receiver
  readonly service: TestService
  readonly client: OpenAI

  private constructor(receiver: Receiver, service: TestService) {
    this.receiver = receiver
    this.service = service
    this.client = clientOf(service.url)
  }

  /** `allowed`: other receivers on this machine. */
  static async open({
    world = {},
    yaml = '',
    allowed = [],
  }: {
    world?: Partial<World>
    yaml?: string
    allowed?: readonly Receiver[]
  } = {}): Promise<WebhookWorld> {
    await using stack = new AsyncDisposableStack()
    const receiver = stack.use(await startReceiver())
    const allow = [receiver, ...allowed].map(({ port }) => `"127.0.0.1:${port}"`)
    const env = { FILMGATE_OPERATOR_TOKEN: operatorToken }
    const service = await startService({ yaml: `outbound: { allow: [${allow}] }\n${yaml}`, env, world })
    stack.move()
    return new WebhookWorld(receiver, service)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]()
    await this.receiver[Symbol.asyncDispose]()
  }

  async create(fields: object = {}): Promise<Endpoint> {
    const body = { name: 'films', url: `${this.receiver.url}/hook`, event_types: ['video.completed', 'video.failed'] }
    return (await this.json('', { ...body, ...fields })) as unknown as Endpoint
  }

  /** A request below /v1/webhook_endpoints: a POST if there is a body. Throws unless the status is as expected. */
  async json(path: string, body?: object, { status = 200, method = '', as = token } = {}) {
    const answer = await this.service.fetch(`/v1/webhook_endpoints${path}`, {
      method: method || (body ? 'POST' : 'GET'),
      headers: { authorization: `Bearer ${as}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const json = (await answer.json()) as Record<string, unknown> & { error?: { code: string; message: string } }
    assert.equal(answer.status, status, JSON.stringify(json))
    return json
  }

  async deliveries(endpoint: { id: string }, query = 'limit=100'): Promise<Delivery[]> {
    return (await this.json(`/${endpoint.id}/deliveries?${query}`)).data as Delivery[]
  }

  /** A video that fails at once, because its image does not exist. */
  async fail(headers: Record<string, string> = {}): Promise<string> {
    const body = { model: 'studio', prompt: `x ${count++}`, image: `${this.receiver.url}/none.png` }
    const answer = await this.service.submit(body, headers)
    assert.equal(answer.status, 200)
    return ((await answer.json()) as { id: string }).id
  }

  async make(): Promise<string> {
    const body = { model: 'studio', prompt: `x ${count++}`, seconds: '1', size: '256x256' }
    return ((await (await this.service.submit(body)).json()) as { id: string }).id
  }

  /** Waits until the endpoint has `size` deliveries, and all of them match. */
  settle(endpoint: { id: string }, size: number, matches: (delivery: Delivery) => boolean): Promise<Delivery[]> {
    return until('all deliveries match', async () => {
      const all = await this.deliveries(endpoint)
      return all.length === size && all.every(matches) && all
    })
  }

  /** Verifies the signature, as a client should. */
  unwrap({ body, headers }: Received, secret: string, toleranceSeconds = 300) {
    return this.client.webhooks.unwrap(body, headers, secret, toleranceSeconds)
  }
}

export const isDelivered = ({ state }: Delivery) => state === 'delivered'

let count = 0

export function clientOf(url: string): OpenAI {
  return new OpenAI({ apiKey: token, baseURL: `${url}/v1`, maxRetries: 0 })
}
