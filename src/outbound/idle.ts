import type { Socket } from 'node:net'
import { after } from './watch.ts'

/** Many servers close an idle connection after 5 s or later, which is noticed. A router may drop it silently, but later. */
const IDLE_MS = 15_000
/** A host may move to another address. */
const OLDEST_MS = 60_000

/** How many more connections may wait, to all providers together. */
export interface IdleRoom {
  left: number
}

interface IdleOptions {
  closing: AbortSignal
  idleRoom: IdleRoom
}

/** Open connections to one provider that wait for their next request. */
export class IdleConnections {
  readonly #closing: AbortSignal
  readonly #room: IdleRoom
  readonly #idle: { socket: Socket; leave(): void }[] = []
  /** Whether each connection is too old to be used again. */
  readonly #isOld = new WeakMap<Socket, boolean>()

  constructor({ closing, idleRoom }: IdleOptions) {
    this.#closing = closing
    this.#room = idleRoom
  }

  /** The one that was used last: it is the least likely to be closed by now. */
  take(): Socket | undefined {
    const last = this.#idle.at(-1)
    last?.leave()
    return last?.socket.ref()
  }

  put(socket: Socket): void {
    if (this.#room.left <= 0 || this.#closing.aborted || this.#ages(socket)) return void socket.destroy()
    const close = () => socket.destroy()
    const cancel = after(IDLE_MS, close)
    const leave = () => {
      cancel()
      this.#room.left += 1
      this.#idle.splice(this.#idle.lastIndexOf(one), 1)
      this.#closing.removeEventListener('abort', close)
      socket.off('data', close).off('end', close).off('close', leave)
    }
    const one = { socket, leave }
    this.#room.left -= 1
    this.#idle.push(one)
    this.#closing.addEventListener('abort', close)
    // Nothing was requested: bytes now would be taken for the response to the next request.
    socket.on('data', close).on('end', close).on('close', leave).unref()
  }

  /** Whether it is too old by now. Counts from the first call. */
  #ages(socket: Socket): boolean {
    if (!this.#isOld.has(socket)) {
      this.#isOld.set(socket, false)
      socket.once(
        'close',
        after(OLDEST_MS, () => this.#isOld.set(socket, true)),
      )
    }
    return this.#isOld.get(socket) ?? false
  }
}
