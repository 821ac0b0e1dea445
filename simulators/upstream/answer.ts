import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Answer {
  status: number
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** A false Content-Length; `none` sends chunks instead. */
  length?: number | 'none'
  /**
   * A wrong end of the body:
   *   close    the connection is closed after it
   *   reset    the connection is reset after it
   *   hang     nothing follows it
   *   drip     it is sent byte by byte
   *   endless  spaces follow it for ever
   */
  ending?: 'close' | 'reset' | 'hang' | 'drip' | 'endless'
}

/** Instead of an answer. `noise` is bytes of another protocol. */
export type Silence = 'hang' | 'close' | 'reset' | 'noise'

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: JSON.stringify(value) }
}

export function html(status: number, text: string): Answer {
  return { status, headers: { 'content-type': 'text/html' }, body: `<!doctype html><h1>${text}</h1>` }
}

export function sendAnswer(response: ServerResponse, answer: Answer | Silence, dripMs: number): void {
  if (typeof answer === 'string') beSilent(response, answer)
  else answerWith(response, answer, dripMs)
}

function answerWith(response: ServerResponse, answer: Answer, dripMs: number): void {
  const { status, body = '', ending } = answer
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const headers: Record<string, string | number> = { 'content-type': 'application/json', ...answer.headers }
  // 204 must not have a length.
  if (answer.length !== 'none' && status !== 204) headers['content-length'] = answer.length ?? bytes.length
  response.writeHead(status, headers)
  if (ending === undefined) response.end(bytes)
  else if (ending === 'drip') void pour(drip(bytes, dripMs), response)
  else if (ending === 'endless') void pour(endless(bytes), response)
  else {
    const { socket } = response
    response.flushHeaders()
    response.write(bytes, () => {
      if (ending === 'close') socket?.end()
      if (ending === 'reset') socket?.resetAndDestroy()
    })
  }
}

function beSilent({ socket }: ServerResponse, silence: Silence): void {
  if (silence === 'close') socket?.end()
  if (silence === 'reset') socket?.resetAndDestroy()
  if (silence === 'noise') socket?.end('SSH-2.0-OpenSSH_9.9\r\n')
}

async function pour(bytes: AsyncGenerator<Uint8Array>, response: ServerResponse): Promise<void> {
  // The client is expected to give up.
  await pipeline(Readable.from(bytes), response).catch(() => {})
}

async function* drip(bytes: Uint8Array, dripMs: number): AsyncGenerator<Uint8Array> {
  for (const byte of bytes) {
    yield Uint8Array.of(byte)
    await sleep(dripMs, undefined, { ref: false })
  }
}

async function* endless(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
  const spaces = Buffer.alloc(65_536, ' ')
  while (true) yield spaces
}
