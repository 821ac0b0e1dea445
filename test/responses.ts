import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { openAccess } from '../src/access.ts'
import type { AppDependencies } from '../src/api/app.ts'
import type { Document } from '../src/api/openapi/document.ts'
import { loadConfig } from '../src/config.ts'
import { openConsole } from '../src/console/console.ts'
import { healthy } from '../src/core/health.ts'
import { Problem } from '../src/core/problem.ts'
import { digestSecret } from '../src/core/token.ts'
import { openVault } from '../src/core/vault.ts'
import { openSecretKeys } from '../src/secrets.ts'
import { newDeclaration } from '../src/stores/contract/declarations.ts'
import { newToken } from '../src/stores/contract/tokens.ts'
import type { Store } from '../src/stores/store.ts'
import type { Schema } from '../src/wire/schema.ts'
import { buildBareApp } from './bare-app.ts'
import { type Named, openChecks, operationsOf } from './document.ts'
import { operatorToken, token } from './service.ts'

/* Sends requests by operationId, and checks each response against the document. */

export interface Ask {
  /** Path parameters, in their order. A missing one gets the id of something that does not exist. */
  path?: readonly string[]
  /** With its question mark. */
  query?: string
  method?: string
  headers?: Record<string, string>
  /** A form, text as it is, or anything else as JSON. */
  body?: unknown
}

export interface Answer {
  status: number
  headers: Headers
  bytes: Buffer
}

export type Send = (method: string, path: string, init: RequestInit) => Promise<Answer>

export function openResponses(document: Document) {
  const operations = operationsOf(document)
  const check = openChecks(document)
  const seen = new Set<string>()

  function named(id: string): Named {
    const found = operations.get(id)
    assert.ok(found, `there is no operation ${id}`)
    return found
  }

  /** Throws unless the document has a response of this status, type and shape. */
  function judge(id: string, { status, headers, bytes }: Answer, isHead = false): void {
    const what = `${id} ${status}`
    const { responses } = named(id).operation
    const response = responses[status]
    assert.ok(response, `${what} is not documented: ${bytes.toString('utf8', 0, 300)}`)
    seen.add(what)
    assert.match(headers.get('x-request-id') ?? '', /^req_/, what)
    const type = headers.get('content-type')?.split(';')[0]?.trim() ?? ''
    const { schema } = response.content?.[type] ?? {}
    if (isHead || !response.content) {
      assert.equal(bytes.length, 0, `${what} has a body`)
      return
    }
    assert.ok(schema, `${what} is ${type || 'of no type'}, not ${Object.keys(response.content)}`)
    if (type === 'text/event-stream') judgeEvents(what, response['x-event-data'], bytes)
    const value = type === 'application/json' ? JSON.parse(bytes.toString()) : bytes.toString('latin1')
    assert.ok(bytes.length > 0, `${what} is empty`)
    check(schema, value, what)
    if (response.headers?.['Retry-After']) assert.match(headers.get('retry-after') ?? 'none', /^\d+$/, what)
    const codes: readonly string[] | undefined = response['x-codes']
    if (codes) assert.ok(codes.includes(value.error.code), `${what} has the code ${value.error.code}`)
  }

  function judgeEvents(what: string, schema: Schema | undefined, bytes: Buffer): void {
    assert.ok(schema, `${what} does not say what its events are`)
    for (const [, data = ''] of bytes.toString().matchAll(/^data: (.*)$/gm)) check(schema, JSON.parse(data), what)
  }

  async function ask(send: Send, id: string, status: number, asked: Ask = {}): Promise<Answer> {
    const { path, operation, method: usual } = named(id)
    const given = [...(asked.path ?? [])]
    const filled = path.replace(/\{\w+\}/g, () => encodeURIComponent(given.shift() ?? 'nothing'))
    const isOperator = operation.security.some((one) => 'operator' in one)
    const body = bodyOf(asked.body)
    const answer = await send(asked.method ?? usual, filled + (asked.query ?? ''), {
      ...body,
      headers: { authorization: `Bearer ${isOperator ? operatorToken : token}`, ...body.headers, ...asked.headers },
    })
    assert.equal(answer.status, status, `${id}: ${answer.bytes.toString('utf8', 0, 300)}`)
    judge(id, answer, asked.method === 'HEAD')
    return answer
  }

  /** The documented responses that never occurred, except `default`. */
  function missing(): string[] {
    const all = [...operations].flatMap(([id, { operation }]) =>
      Object.keys(operation.responses).map((status) => `${id} ${status}`),
    )
    return all.filter((pair) => !pair.endsWith(' default') && !seen.has(pair))
  }

  return { operations, ask, judge, missing }
}

function bodyOf(body: unknown): { body?: string | FormData; headers?: Record<string, string> } {
  if (body === undefined) return {}
  if (body instanceof FormData) return { body }
  return {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  }
}

export function sendTo(url: string): Send {
  return async (method, path, init) => {
    const over = new AbortController()
    const options: RequestInit = { ...init, method, redirect: 'manual', signal: over.signal }
    const { status, headers, body } = await fetch(url + path, options)
    if (!body) return { status, headers, bytes: Buffer.alloc(0) }
    // A stream of events has no end: its first part is enough.
    const isStream = headers.get('content-type') === 'text/event-stream'
    const bytes = isStream ? (await body.getReader().read()).value : await buffer(body)
    over.abort()
    return { status, headers, bytes: Buffer.from(bytes ?? '') }
  }
}

const tooMuch = Buffer.alloc(60_000_000)

/** A larger body than any route accepts. The response may come before all of it is sent. */
export function sendTooMuch(url: string): Send {
  return async (method, path, { headers }) => {
    const length = { 'content-length': String(tooMuch.length), 'content-type': 'application/json' }
    const request = httpRequest(url + path, { method, headers: { ...(headers as Record<string, string>), ...length } })
    const answered = once(request, 'response')
    // The connection is closed while it still sends.
    request.on('error', () => {})
    request.end(tooMuch)
    const [response] = (await answered) as [IncomingMessage]
    const bytes = await buffer(response)
    return { status: response.statusCode ?? 0, headers: new Headers(response.headers as Record<string, string>), bytes }
  }
}

/** A service whose store and bucket are both gone, except for what is given. */
export async function startBroken(
  working: { store?: object; healths?: object; mode?: string } = {},
): Promise<{ send: Send } & AsyncDisposable> {
  const { catalog } = loadConfig({ flags: {}, env: { FILMGATE_TOKEN: token } })
  const fail = () => Promise.reject(Problem.ofStorage(new Error('it is gone')))
  const ignore = () => () => {}
  // It must not look like a promise; and listeners are accepted, but never called.
  const usual = (name: string) => (name === 'then' ? undefined : name.startsWith('on') ? ignore : fail)
  const breaking = (parts: object) =>
    new Proxy(parts, { get: (target, name) => Reflect.get(target, name) ?? usual(String(name)) })
  const broken = breaking({})
  const access = openAccess({
    tokens: [
      { kind: 'client', name: 'default', digest: digestSecret(token), models: ['*'] },
      { kind: 'operator', name: 'operator', digest: digestSecret(operatorToken), models: [] },
      newToken('0'),
    ],
  })
  const provider = { name: 'studio', recovery: 'key' } as const
  const studio = {
    name: 'studio',
    provider,
    concurrency: 1,
    onUnknown: 'hold',
    keyVersion: '',
    health: healthy,
    mode: working.mode ?? 'active',
  } as const
  const tools = {
    access,
    clock: { now: () => Date.now(), sleep: () => new Promise<void>(() => {}) },
    random: (bytes: number) => new Uint8Array(bytes),
    log: { info() {}, warn() {}, error() {} },
  }
  // Processes that share a store have no key unless it is set.
  const keys = openSecretKeys({ given: [], file: null, random: tools.random })
  const vault = openVault(keys, tools.random)
  const store = breaking(working.store ?? {}) as Store
  const app = buildBareApp({
    catalog,
    ...tools,
    webConsole: openConsole({ ...tools, store, keys, vault, files: null, version: '0' }),
    accounts: new Map([['studio', studio]]),
    store,
    bucket: broken,
    healths: breaking(working.healths ?? {}),
    declared: {
      find: (_kind: string, name: string) => (name === 'studio' ? newDeclaration(name, { revision: 1 }) : undefined),
      isConfigured: () => false,
      check() {},
      modelsWithout: () => [],
      newest: () => 0,
      inTurn: (change: () => unknown) => change(),
    },
    media: broken,
    outbound: { of: () => broken },
    scratch: tmpdir(),
  } as unknown as AppDependencies)
  const url = await app.listen({ port: 0 })
  return { send: sendTo(url), [Symbol.asyncDispose]: () => app.close() }
}
