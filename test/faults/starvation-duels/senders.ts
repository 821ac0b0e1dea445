import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Target } from './duel.ts'

/** How often each status was answered; `none`: the connection ended without an answer. */
export type Answers = Map<string, number>

export interface RequestOptions {
  method?: string
  path: string
  type?: string
  body?: Buffer | string
}

/** A whole request as bytes. Each is on a connection of its own: the end of the answer is the end of the connection. */
export function requestBytes(
  { url, token }: Target,
  { method = 'POST', path, type, body = '' }: RequestOptions,
): Buffer {
  const content = Buffer.from(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    `authorization: Bearer ${token}`,
    'connection: close',
    `content-length: ${content.length}`,
    ...(type ? [`content-type: ${type}`] : []),
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content])
}

export function jsonBytes(target: Target, path: string, body: object): Buffer {
  return requestBytes(target, { path, type: 'application/json', body: JSON.stringify(body) })
}

const boundary = 'filmgate-duel'

/** A part of a form: its headers, and what is in it. */
export interface Part {
  head: string
  body: Buffer | string
}

export function textPart(name: string, body: string): Part {
  return { head: `content-disposition: form-data; name="${name}"`, body }
}

export function fileHead(name: string, type: string): string {
  return `content-disposition: form-data; name="${name}"; filename="x"\r\ncontent-type: ${type}`
}

export function formBytes(target: Target, path: string, parts: readonly Part[]): Buffer {
  const body = Buffer.concat([
    ...parts.flatMap(({ head, body }) => [
      Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
  return requestBytes(target, { path, type: `multipart/form-data; boundary=${boundary}`, body })
}

export interface SendOptions {
  target: Target
  senders: number
  /** The request of that number. */
  next: (number: number) => Buffer
  /** How many in all; without end unless it is said. */
  count?: number
  /** When the sender leaves an answer that has not ended, in milliseconds; never unless it is said. */
  hangUpMs?: number
}

/**
 * A sender begins ten requests in a second at most: what is measured is what expensive requests cost others, and not a
 * flood of cheap ones, which a proxy has to stop.
 */
const everyMs = 100

/** Raw sockets and prebuilt bytes: the attacker shares the machine with the service. */
export async function send(options: SendOptions, answers: Answers): Promise<void> {
  const { target, senders, next, count = Number.POSITIVE_INFINITY, hangUpMs } = options
  let begun = 0
  const sender = async () => {
    while (begun < count) {
      begun += 1
      const [status] = await Promise.all([sendOnce(target, next(begun), hangUpMs), pause(everyMs)])
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: senders }, sender))
}

/** The status of the answer. */
export function sendOnce({ url }: Target, bytes: Buffer, hangUpMs?: number): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let status = 'none'
    const socket = connect(Number(port), hostname)
    socket.on('data', (chunk: Buffer) => {
      if (status === 'none') status = /^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1', 0, 12))?.[1] ?? 'none'
    })
    socket.on('error', () => {})
    const timer = hangUpMs === undefined ? undefined : setTimeout(() => socket.destroy(), hangUpMs)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(status)
    })
    // Not ended: Node breaks off the request of a client that has closed its side.
    socket.write(bytes)
  })
}
