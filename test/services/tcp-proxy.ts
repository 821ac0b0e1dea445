import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * What becomes of a COMMIT:
 *   lost        it never arrives, and the connection is cut
 *   answerLost  it arrives, and the connection is cut before its answer
 *   late        the connection is cut, and it arrives half a second later
 *   last        it is answered, and then nobody is there any more
 */
export type CommitFate = 'lost' | 'answerLost' | 'late' | 'last'

/** Stands before a PostgreSQL server and breaks what goes through. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** Connections are open, and nothing comes through them. */
  hang(): void
  goOn(): void
  /** Connections are cut, and new ones refused. */
  refuse(): Promise<void>
  accept(): Promise<void>
  /** All that are open; new ones are welcome. */
  cut(): void
  /** Where new connections lead from now on; those that are open are cut. */
  retarget(port: number): void
  /** Everything takes so much longer. */
  delay(ms: number): void
  /** For the next COMMIT of a transaction whose statements match, or of such a statement alone. Resolves when it has happened. */
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
  /** Since its last BEGIN. */
  statements: string
  /** Of no transaction, a statement is committed as soon as it is done. */
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

  /** In order, whatever each has to wait for: an end is the last of it. */
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
