import type { Socket } from 'node:net'
import { after } from './watch.ts'

/** Many servers close an idle connection after 5 s or later, which is noticed. A router may drop it silently, but later. */
const IDLE_MS = 15_000
/** A host may move to another address. */
const OLDEST_MS = 60_000
const MOST = 64

/** Open connections to one provider that wait for their next request. */
export class IdleConnections {
  readonly #idle: { socket: Socket; leave(): void }[] = []
  readonly #since = new WeakMap<Socket, number>()

  constructor(closing: AbortSignal) {
    closing.addEventListener('abort', () => {
      for (const { socket } of this.#idle) socket.destroy()
    })
  }

  /** The one that was used last: it is the least likely to be closed by now. */
  take(): Socket | undefined {
    const last = this.#idle.at(-1)
    last?.leave()
    return last?.socket.ref()
  }

  put(socket: Socket): void {
    const now = performance.now()
    const since = this.#since.get(socket) ?? now
    this.#since.set(socket, since)
    if (this.#idle.length >= MOST || now - since > OLDEST_MS) return void socket.destroy()
    const close = () => socket.destroy()
    const cancel = after(IDLE_MS, close)
    const leave = () => {
      cancel()
      this.#idle.splice(this.#idle.lastIndexOf(one), 1)
      socket.off('data', close).off('end', close).off('close', leave)
    }
    const one = { socket, leave }
    this.#idle.push(one)
    // Nothing was requested: bytes now would be taken for the response to the next request.
    socket.on('data', close).on('end', close).on('close', leave).unref()
  }
}
