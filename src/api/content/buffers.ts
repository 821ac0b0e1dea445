/** The memory that videos are sent from, used again and again. */
export interface Buffers {
  take(): Buffer
  /** The buffer must not be in use by a read, a digest or a write. */
  give(buffer: Buffer): void
}

/** Twice as large makes no difference; a quarter of it costs a quarter more CPU. */
const largeBytes = 256 * 1024
const smallBytes = 64 * 1024
/** If clients that read slowly hold all large ones, the others get small ones. Unused small ones are kept up to a limit. */
const [mostLarge, mostUnused] = [64, 256]

export function openBuffers(): Buffers {
  // The one that was used last is taken first: it may still be in the processor's cache.
  const large: Buffer[] = []
  const small: Buffer[] = []
  let created = 0
  return {
    take() {
      const used = large.pop()
      if (used) return used
      if (created === mostLarge) return small.pop() ?? sharedBuffer(smallBytes)
      created += 1
      return sharedBuffer(largeBytes)
    },
    give(buffer) {
      if (buffer.length === largeBytes) large.push(buffer)
      else if (small.length < mostUnused) small.push(buffer)
    },
  }
}

/** Another thread can compute its digest without a copy. */
function sharedBuffer(bytes: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(bytes))
}
