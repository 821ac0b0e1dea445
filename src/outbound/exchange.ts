import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import type { Socket } from 'node:net'
import { after, Late, type Patience, Watch } from './watch.ts'

export interface Question {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string | Uint8Array | undefined
}

export interface Head {
  status: number
  headers: Headers
}

export interface ExchangePatience extends Patience {
  headersMs: number
}

const MAX_HEADER_BYTES = 16_384
/** Servers send one or two: `100 Continue`, `103 Early Hints`, and now and then `102 Processing`. */
const MAX_INTERIM_RESPONSES = 16

/** Each costs time of the whole process to read, and a host could send them without end. */
export class InterimFlood extends Error {
  /** As the parser's own codes: the response can't be read. */
  readonly code = 'HPE_INTERIM_FLOOD'

  constructor() {
    super(`more than ${MAX_INTERIM_RESPONSES} interim responses (1xx) came`)
  }
}

/**
 * One request and its answer on a connection that serves nothing else and ends with it, by `end` or when the body has
 * been read. Nothing leaves before `send`. Made with node:http, because fetch can't tell that more bytes came than were announced,
 * and takes a `100 Continue` that was not asked for, which leaves the outcome of a paid request open, for a fault.
 */
export class Exchange {
  readonly #socket: Socket
  readonly #patience: ExchangePatience
  readonly #signal: AbortSignal
  readonly #closed = Promise.withResolvers<void>()
  readonly #request: ClientRequest
  readonly #body: string | Uint8Array | undefined
  #answered: () => void = () => {}
  #answer: IncomingMessage | undefined
  #failure: { cause: unknown } | undefined
  #surplus: Error | undefined
  #interims = 0
  #wake: (() => void) | undefined

  constructor(socket: Socket, question: Question, patience: ExchangePatience, signal: AbortSignal) {
    this.#socket = socket
    this.#patience = patience
    this.#signal = signal
    signal.addEventListener('abort', this.#abort, { once: true })
    socket.once('close', () => this.#onClose())
    this.#body = question.body
    this.#request = this.#open(question)
    if (signal.aborted) this.#abort()
    if (socket.destroyed) this.#onClose()
  }

  /** Called where the signal ends the exchange, for a reader who does not wait for bytes just then. */
  onAbort: (reason: unknown) => void = () => {}

  /** Resolves when the connection is gone. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /**
   * Sends the request, which is ready by now: one write is all that it takes. Throws if the exchange has ended already, or
   * if `leave`, which is called right before the write, does.
   */
  send(leave?: () => void): void {
    if (this.#failure) throw this.#failure.cause
    leave?.()
    this.#answered = after(this.#patience.headersMs, () => this.end(new Late('no answer came')))
    this.#request.end(this.#body)
  }

  async head(): Promise<Head> {
    const { statusCode = 0, rawHeaders } = await this.#until(() => this.#answer)
    const headers = new Headers()
    for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
    return { status: statusCode, headers }
  }

  /**
   * The bytes as they come. Fails if they are fewer than announced; with `closeMs` also if they are more, for which the
   * other side is given that long to close the connection.
   */
  async *body(closeMs?: number): AsyncGenerator<Uint8Array> {
    const answer = await this.#until(() => this.#answer)
    const isWaiting = () => this.#wake !== undefined
    const watch = new Watch(this.#patience, isWaiting, (late) => this.end(late))
    try {
      for (;;) {
        const chunk = await this.#until(() => take(answer))
        if (chunk === 'all') break
        watch.received(chunk.length)
        yield chunk
      }
      watch.stop()
      if (closeMs !== undefined) await this.#nothingMore(closeMs)
    } finally {
      watch.stop()
      this.end(new Error('the body was given up'))
    }
  }

  /** Closes the connection; whoever still waits for something, or asks for it later, gets the cause. */
  end(cause: unknown): void {
    this.#failure ??= { cause }
    this.#answered()
    this.#signal.removeEventListener('abort', this.#abort)
    this.#socket.destroy()
    this.#wake?.()
  }

  #open({ method, url, headers, body }: Question): ClientRequest {
    const request = openRequest({
      createConnection: () => this.#socket,
      method,
      path: url.pathname + url.search,
      headers: { host: url.host, ...headers, ...lengthOf(method, body) },
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false, // whatever the flags of the process say
    })
    request.on('error', (error) => this.#fault(error))
    request.on('information', () => this.#onInterim())
    // Before Node's own listener, which by then is there: it completes the answer with its last bytes and then no longer
    // listens, and it reads all interim responses of a chunk, thousands, before anything can stop it.
    request.once('socket', () => this.#socket.prependListener('data', (chunk) => this.#received(chunk)))
    request.on('response', (answer) => {
      this.#answer = answer
      this.#answered()
      answer.on('error', (error) => this.#fault(error))
      answer.on('readable', () => this.#wake?.())
      this.#wake?.()
    })
    return request
  }

  #received(chunk: Buffer): void {
    if (this.#answer?.complete) {
      this.#surplus ??= new Error('more bytes came than were announced')
      this.#socket.destroy()
    }
    if (this.#answer || interimsIn(chunk) <= MAX_INTERIM_RESPONSES) return
    this.end(new InterimFlood())
    // The parser gets the same bytes next, and stops at the first that is not HTTP.
    chunk.fill(0)
  }

  #onInterim(): void {
    this.#interims += 1
    if (this.#interims > MAX_INTERIM_RESPONSES) this.end(new InterimFlood())
  }

  readonly #abort = (): void => {
    this.end(this.#signal.reason)
    this.onAbort(this.#signal.reason)
  }

  #fault(error: NodeJS.ErrnoException): void {
    // After a whole answer the connection may break as it likes, but what the parser stumbles over is more of a body.
    if (!this.#answer?.complete) this.end(error)
    else if (error.code?.startsWith('HPE_')) this.#surplus = error
  }

  #onClose(): void {
    this.#closed.resolve()
    if (!this.#answer?.complete) this.end(new Error('the connection was closed before the answer was whole'))
    this.#wake?.()
  }

  async #nothingMore(ms: number): Promise<void> {
    let enough = false
    const undo = after(ms, () => {
      enough = true
      this.#wake?.()
    })
    await this.#until(() => enough || this.#socket.closed || undefined).finally(undo)
    if (this.#surplus) throw this.#surplus
  }

  async #until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      if (this.#failure) throw this.#failure.cause
      const found = look()
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
  }
}

/**
 * What has come by now, if anything has. Exactly as many bytes as there are: to ask for more would let the stream see
 * its end, where Node closes the connection, and what is sent after the announced length would not be noticed.
 */
function take(answer: IncomingMessage): Uint8Array | 'all' | undefined {
  if (answer.readableLength > 0) return answer.read(answer.readableLength)
  return answer.complete ? 'all' : undefined
}

const END_OF_HEAD = '\r\n\r\n'
const INTERIM = /^HTTP\/1\.\d 1/

/** How many interim responses it has in front of the final one, up to one more than are accepted. */
function interimsIn(chunk: Buffer): number {
  let interims = 0
  // It may begin within a head.
  let at = chunk.toString('latin1', 0, 5) === 'HTTP/' ? 0 : chunk.indexOf(END_OF_HEAD) + END_OF_HEAD.length
  while (interims <= MAX_INTERIM_RESPONSES && INTERIM.test(chunk.toString('latin1', at, at + 10))) {
    interims += 1
    const end = chunk.indexOf(END_OF_HEAD, at)
    if (end < 0) break
    at = end + END_OF_HEAD.length
  }
  return interims
}

/** Said by us, since Node says it for some methods only, and a body without a length would be read as a second request. */
function lengthOf(method: string, body: string | Uint8Array | undefined): { 'content-length'?: number } {
  if (body === undefined && (method === 'GET' || method === 'DELETE')) return {}
  return { 'content-length': body === undefined ? 0 : Buffer.byteLength(body) }
}
