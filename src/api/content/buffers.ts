/** The memory that videos are sent from, used again and again. */
export interface Buffers {
  /** A large one, unless the owner holds as many large ones as are left. */
  take(owner: string): Buffer
  /** The buffer must not be in use by a read, a digest or a write. */
  give(buffer: Buffer, owner: string): void
}

/** Twice as large makes no difference; a quarter of it costs a quarter more CPU. */
const largeBytes = 256 * 1024
const smallBytes = 64 * 1024
/**
 * A client that reads slowly holds its buffer for long. So one owner holds at most half of the large ones, the next half
 * of the rest, and so on. Unused small ones are kept up to a limit.
 */
const [mostLarge, mostUnused] = [64, 256]

export function openBuffers(): Buffers {
  // The one that was used last is taken first: it may still be in the processor's cache.
  const large: Buffer[] = []
  const small: Buffer[] = []
  /** How many large ones each owner holds. */
  const held = new Map<string, number>()
  let left = mostLarge
  return {
    take(owner) {
      const own = held.get(owner) ?? 0
      if (own >= left) return small.pop() ?? sharedBuffer(smallBytes)
      held.set(owner, own + 1)
      left -= 1
      return large.pop() ?? sharedBuffer(largeBytes)
    },
    give(buffer, owner) {
      if (buffer.length !== largeBytes) {
        if (small.length < mostUnused) small.push(buffer)
        return
      }
      large.push(buffer)
      left += 1
      const own = (held.get(owner) ?? 0) - 1
      if (own > 0) held.set(owner, own)
      else held.delete(owner)
    },
  }
}

/** Another thread can compute its digest without a copy. */
function sharedBuffer(bytes: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(bytes))
}
