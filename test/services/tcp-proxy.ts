import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * What happens to a COMMIT:
 *   lost        it never arrives, and the connection is cut
 *   answerLost  it arrives, and the connection is cut before the response
 *   late        the connection is cut, and it arrives half a second later
 *   last        the response arrives, and then the database is gone
 */
export type CommitFate = 'lost' | 'answerLost' | 'late' | 'last'

/** A proxy before a PostgreSQL server that causes faults. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** How many connections it has accepted. */
  readonly connections: number
  /** Connections stay open, and nothing passes. */
  hang(): void
  goOn(): void
  /** Connections are cut, and new ones refused. */
  refuse(): Promise<void>
  accept(): Promise<void>
  /** Cuts all open connections. New ones are accepted. */
  cut(): void
  /** Leads new connections to another port, and cuts the open ones. */
  retarget(port: number): void
  /** Delays everything by this long. */
  delay(ms: number): void
  /** The fate of the next COMMIT of a transaction with a matching statement, or of such a statement alone. Resolves after it. */
  onCommit(of: RegExp, fate: CommitFate): Promise<void>
}

interface Order {
  of: RegExp
  fate: CommitFate
  done: () => void
}

interface Link {
  client: Socket
  server: Socket
  /** The statements since the last BEGIN. */
  statements: string
  /** Outside of a transaction, a statement commits by itself. */
  begun: boolean
  fate?: Order
}

const lateMs = 500

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const proxy = new Breaker(target)
  await proxy.accept()
  return proxy
}

class Breaker implements TcpProxy {
  port = 0
  connections = 0
  #target: number
  readonly #links = new Set<Link>()
  readonly #server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => this.#join(client))
  #open = Promise.resolve()
  #goOn = () => {}
  #delayMs = 0
  #order: Order | undefined

  constructor(target: number) {
    this.#target = target
  }

  hang(): void {
    this.#goOn()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open = promise
    this.#goOn = resolve
  }

  goOn(): void {
    this.#goOn()
  }

  async refuse(): Promise<void> {
    const closed = once(this.#server.close(), 'close')
    this.cut()
    await closed
  }

  async accept(): Promise<void> {
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening')
    this.port = (this.#server.address() as AddressInfo).port
  }

  cut(): void {
    for (const { client, server } of this.#links) {
      client.destroy()
      server.destroy()
    }
  }

  retarget(port: number): void {
    this.#target = port
    this.cut()
  }

  delay(ms: number): void {
    this.#delayMs = ms
  }

  onCommit(of: RegExp, fate: CommitFate): Promise<void> {
    return new Promise((done) => {
      this.#order = { of, fate, done }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.goOn()
    if (this.#server.listening) await this.refuse()
  }

  #join(client: Socket): void {
    this.connections += 1
    const server = connect({ port: this.#target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const link: Link = { client, server, statements: '', begun: false }
    this.#links.add(link)
    const end = () => {
      if (link.fate?.fate === 'late') return
      client.destroy()
      server.destroy()
      this.#links.delete(link)
    }
    for (const socket of [client, server]) socket.on('error', () => {}).on('close', end)
    this.#carry(client, server, (bytes) => this.#ask(link, bytes))
    this.#carry(server, client, (bytes) => this.#answer(link, bytes))
  }

  /** Keeps the order, whatever each part has to wait for. The end comes last. */
  #carry(from: Socket, to: Socket, give: (bytes: Buffer) => void): void {
    let before = Promise.resolve()
    const inTurn = (act: () => void) => {
      before = before.then(async () => {
        if (this.#delayMs > 0) await pause(this.#delayMs)
        await this.#open
        act()
      })
    }
    from.on('data', (bytes) => inTurn(() => give(bytes)))
    from.on('end', () => inTurn(() => to.end()))
  }

  #ask(link: Link, bytes: Buffer): void {
    const text = bytes.toString('latin1')
    if (text.includes('BEGIN')) link.begun = true
    const isCommit = !link.begun || text.includes('COMMIT\0')
    link.statements += text
    const order = this.#order
    const isMeant = isCommit && order?.of.test(link.statements) === true
    if (/(COMMIT|ROLLBACK)\0/.test(text)) link.begun = false
    if (!link.begun) link.statements = ''
    if (!order || !isMeant) return void link.server.write(bytes)
    this.#order = undefined
    link.fate = order
    if (order.fate === 'lost') link.server.destroy()
    if (order.fate === 'lost' || order.fate === 'late') link.client.destroy()
    if (order.fate === 'late') setTimeout(() => link.server.write(bytes), lateMs)
    else link.server.write(bytes)
    if (order.fate === 'lost') order.done()
  }

  #answer(link: Link, bytes: Buffer): void {
    const order = link.fate
    if (!order) return void link.client.write(bytes)
    delete link.fate
    if (order.fate === 'last')
      link.client.end(bytes, () => {
        void this.refuse().then(order.done)
      })
    else {
      link.client.destroy()
      link.server.destroy()
      order.done()
    }
  }
}
