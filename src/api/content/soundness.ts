import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { Problem } from '../../core/problem.ts'
import type { Asset } from '../../core/task.ts'

/** Enough for all videos that are often downloaded, in a few megabytes of memory. */
const remembered = 10_000

export interface Soundness {
  /** Throws if the asset is known to be damaged, whichever part of it is requested. */
  refuse(asset: Asset): void
  /**
   * Checks a whole asset. The last chunk is sent only if all bytes are right, so a damaged one never looks complete.
   */
  check(source: Readable, asset: Asset): Readable
}

/**
 * Which stored videos this process knows to be intact or damaged, because disks can fail. The first full read of a
 * video is compared with the digest from when it was stored. Later reads cost nothing more.
 */
export function openSoundness(): Soundness {
  const sound = boundedSet(remembered)
  const damaged = boundedSet(remembered)

  function refuse({ key }: Asset): void {
    if (damaged.has(key)) throw unusable(`${key} has other bytes than were stored`)
  }

  function check(source: Readable, { key, bytes, sha256 }: Asset): Readable {
    if (sound.has(key)) return source
    const digest = createHash('sha256')
    let left = bytes
    const judge = () => {
      const found = digest.digest('hex')
      if (found === sha256) return sound.add(key)
      damaged.add(key)
      throw unusable(`${key} has the SHA-256 ${found}, ${sha256} was stored`)
    }
    return through(source, (chunk) => {
      if (left <= 0) return
      digest.update(chunk)
      left -= chunk.length
      if (left <= 0) judge()
    })
  }

  return { refuse, check }
}

/** The stored object is damaged or missing. The client can't fix that, and a retry does not help. */
export function unusable(cause: string): Problem {
  return new Problem(
    'internal',
    'The stored video is damaged or missing, so it is not sent. Please contact the operator.',
    {
      cause: new Error(cause),
    },
  )
}

/** Drops the oldest key if there are too many. */
function boundedSet(most: number) {
  const keys = new Set<string>()
  return {
    has: (key: string) => keys.has(key),
    add(key: string): void {
      keys.add(key)
      const [oldest] = keys.size > most ? keys : []
      if (oldest !== undefined) keys.delete(oldest)
    },
  }
}

/** The same bytes. If `inspect` throws, the chunk is not passed on and the stream fails. */
function through(source: Readable, inspect: (chunk: Buffer) => void): Readable {
  const inspected = new Transform({
    readableHighWaterMark: 512 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      try {
        inspect(chunk)
      } catch (error) {
        return done(error as Error)
      }
      done(null, chunk)
    },
  })
  source.on('error', (error) => inspected.destroy(error))
  inspected.once('close', () => source.destroy())
  return source.pipe(inspected)
}
