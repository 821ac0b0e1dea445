import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { after, type BodyDeadlines, BodyWatch, DeadlineError } from './watch.ts'

export interface HttpRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string | Uint8Array | undefined
}

export interface Head {
  status: number
  headers: Headers
}

export interface ExchangeDeadlines extends BodyDeadlines {
  headersMs: number
}

/** Not imported: an import reads all exports of the module, and one of them loads Node's fetch. That is 30 ms of a start. */
const { request: openRequest } = process.getBuiltinModule('node:http')

const MAX_HEADER_BYTES = 16_384
/** The cause after every body, so it is created once. */
const ABANDONED = new Error('the body was abandoned')
/** Servers send one or two: `100 Continue`, `103 Early Hints`, sometimes `102 Processing`. */
const MAX_INTERIM_RESPONSES = 16

/** Each costs CPU time of the whole process, and a host could send them forever. */
export class InterimFlood extends Error {
  /** Like the parser's own codes: the response cannot be read. */
  readonly code = 'HPE_INTERIM_FLOOD'

  constructor() {
    super(`more than ${MAX_INTERIM_RESPONSES} interim responses (1xx) arrived`)
  }
}

/**
 * One request and its response on a connection, which closes with `end` or when the body has been read, unless it is
 * kept for other requests. No byte is sent before `send`. It uses node:http, because fetch does not notice more bytes than announced, and fails
 * on an unrequested `100 Continue`, which would leave the outcome of a paid request unknown.
 */
export class Exchange {
  readonly #socket: Socket
  readonly #deadlines: ExchangeDeadlines
  readonly #signal: AbortSignal
  readonly #closed = Promise.withResolvers<void>()
  readonly #request: ClientRequest
  readonly #body: string | Uint8Array | undefined
  readonly #isKept: boolean
  #isFree = false
  #cancelHeadersTimer: () => void = () => {}
  #response: IncomingMessage | undefined
  #failure: { cause: unknown } | undefined
  #surplus: Error | undefined
  #interims = 0
  #wake: (() => void) | undefined

  constructor(
    socket: Socket,
    request: HttpRequest,
    deadlines: ExchangeDeadlines,
    signal: AbortSignal,
    isKept: boolean = false,
  ) {
    this.#socket = socket
    this.#isKept = isKept
    this.#deadlines = deadlines
    this.#signal = signal
    signal.addEventListener('abort', this.#abort, { once: true })
    socket.once('close', this.#onClose)
    this.#body = request.body
    this.#request = this.#open(request)
    if (signal.aborted) this.#abort()
    if (socket.destroyed) this.#onClose()
  }

  /** Called when the signal ends the exchange, for a reader that is not waiting for bytes at that moment. */
  onAbort: (reason: unknown) => void = () => {}

  /** Whether another request may use the connection: the response was complete, and the other side keeps it open. */
  release(): boolean {
    this.#socket.off('data', this.#received).off('close', this.#onClose)
    return this.#isFree && !this.#socket.destroyed
  }

  /** Resolves when the connection is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /**
   * Sends the prepared request with one write. Throws if the exchange has already ended, or if `leave` throws, which is
   * called right before the write.
   */
  send(leave?: () => void): void {
    if (this.#failure) throw this.#failure.cause
    leave?.()
    const timeOut = () => this.end(new DeadlineError('no response arrived'))
    this.#cancelHeadersTimer = after(this.#deadlines.headersMs, timeOut)
    this.#request.end(this.#body)
  }

  async head(): Promise<Head> {
    const { statusCode = 0, rawHeaders } = await this.#until(() => this.#response)
    const headers = new Headers()
    for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
    return { status: statusCode, headers }
  }

  /**
   * The bytes as they arrive. Fails if they are fewer than announced. With `closeMs` it also fails if they are more: it
   * waits that long for the other side to close the connection.
   */
  async *body(closeMs?: number): AsyncGenerator<Uint8Array> {
    const response = await this.#until(() => this.#response)
    const isWaiting = () => this.#wake !== undefined
    const watch = new BodyWatch(this.#deadlines, isWaiting, (error) => this.end(error))
    try {
      for (;;) {
        const chunk = await this.#until(() => readAvailable(response))
        if (chunk === 'end') break
        watch.received(chunk.length)
        yield chunk
      }
      watch.stop()
      if (closeMs !== undefined) await this.#expectClose(closeMs)
      if (this.#isKept) await this.#free(response)
    } finally {
      watch.stop()
      this.end(ABANDONED)
    }
  }

  /** Closes the connection, unless it is free. Every pending or later read throws the cause. */
  end(cause: unknown): void {
    this.#failure ??= { cause }
    this.#cancelHeadersTimer()
    this.#signal.removeEventListener('abort', this.#abort)
    if (!this.#isFree) this.#socket.destroy()
    this.#wake?.()
  }

  #open({ method, url, headers, body }: HttpRequest): ClientRequest {
    const request = openRequest({
      createConnection: () => this.#socket,
      method,
      path: url.pathname + url.search,
      headers: {
        host: url.host,
        ...headers,
        ...lengthOf(method, body),
        ...(this.#isKept && { connection: 'keep-alive' }),
      },
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false, // overrides the flags of the process
    })
    request.on('error', (error) => this.#onError(error))
    request.on('information', () => this.#onInterim())
    // Before Node's own listener, which exists by then: it stops listening once the response is complete, and it parses
    // all interim responses of a chunk, possibly thousands, before anything can stop it.
    request.once('socket', () => this.#socket.prependListener('data', this.#received))
    request.on('response', (response) => {
      this.#response = response
      this.#cancelHeadersTimer()
      response.on('error', (error) => this.#onError(error))
      response.on('readable', () => this.#wake?.())
      this.#wake?.()
    })
    return request
  }

  readonly #received = (chunk: Buffer): void => {
    if (this.#response?.complete) {
      this.#surplus ??= new Error('more bytes arrived than announced')
      this.#socket.destroy()
    }
    if (this.#response || interimsIn(chunk) <= MAX_INTERIM_RESPONSES) return
    this.end(new InterimFlood())
    // The parser gets the same bytes next, and stops at the first byte that is not HTTP.
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

  #onError(error: NodeJS.ErrnoException): void {
    // After a complete response a broken connection does not matter, but a parser error means surplus bytes.
    if (!this.#response?.complete) this.end(error)
    else if (error.code?.startsWith('HPE_')) this.#surplus = error
  }

  readonly #onClose = (): void => {
    this.#closed.resolve()
    if (!this.#response?.complete) this.end(new Error('the connection closed before the response was complete'))
    this.#wake?.()
  }

  /** Node removes its listeners when the response has ended, and closes the connection if the other side wants that. */
  async #free(response: IncomingMessage): Promise<void> {
    let isFree = false
    this.#socket.once('free', () => {
      isFree = true
      this.#wake?.()
    })
    response.read()
    await this.#until(() => isFree || this.#socket.destroyed || undefined)
    this.#isFree = isFree
  }

  async #expectClose(ms: number): Promise<void> {
    let isOver = false
    const cancel = after(ms, () => {
      isOver = true
      this.#wake?.()
    })
    await this.#until(() => isOver || this.#socket.closed || undefined).finally(cancel)
    if (this.#surplus) throw this.#surplus
  }

  async #until<T>(check: () => T | undefined): Promise<T> {
    for (;;) {
      if (this.#failure) throw this.#failure.cause
      const found = check()
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
  }
}

/**
 * The bytes that have arrived, if any. It reads exactly as many as there are: reading more would end the stream, Node
 * would close the connection, and surplus bytes would not be noticed.
 */
function readAvailable(response: IncomingMessage): Uint8Array | 'end' | undefined {
  if (response.readableLength > 0) return response.read(response.readableLength)
  return response.complete ? 'end' : undefined
}

const END_OF_HEAD = '\r\n\r\n'
const INTERIM = /^HTTP\/1\.\d 1/

/** How many interim responses precede the final one, counted up to one more than are accepted. */
function interimsIn(chunk: Buffer): number {
  let interims = 0
  // The chunk may start in the middle of a head.
  let at = chunk.toString('latin1', 0, 5) === 'HTTP/' ? 0 : chunk.indexOf(END_OF_HEAD) + END_OF_HEAD.length
  while (interims <= MAX_INTERIM_RESPONSES && INTERIM.test(chunk.toString('latin1', at, at + 10))) {
    interims += 1
    const end = chunk.indexOf(END_OF_HEAD, at)
    if (end < 0) break
    at = end + END_OF_HEAD.length
  }
  return interims
}

/** Set by us: Node sets it for some methods only, and a server reads a body without a length as a second request. */
function lengthOf(method: string, body: string | Uint8Array | undefined): { 'content-length'?: number } {
  if (body === undefined && (method === 'GET' || method === 'DELETE')) return {}
  return { 'content-length': body === undefined ? 0 : Buffer.byteLength(body) }
}
