/** Lets so many in at once, the others in their order. */
interface Turnstile {
  /** Throws the reason of the signal if that comes first. */
  enter(who: object, signal: AbortSignal): Promise<void>
  /** Gives up the turn of who is in; of somebody else it does nothing. */
  leave(who: object): void
}

export function openTurnstile(limit: number): Turnstile {
  const inside = new Set<object>()
  const waiting = new Map<object, () => void>()
  return {
    async enter(who, signal) {
      signal.throwIfAborted()
      if (inside.size < limit) {
        inside.add(who)
        return
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const abort = () => {
        waiting.delete(who)
        reject(signal.reason)
      }
      signal.addEventListener('abort', abort, { once: true })
      waiting.set(who, resolve)
      await promise
      signal.removeEventListener('abort', abort)
    },
    leave(who) {
      if (!inside.delete(who)) return
      const [next] = waiting
      if (!next) return
      const [other, resolve] = next
      waiting.delete(other)
      inside.add(other)
      resolve()
    },
  }
}
