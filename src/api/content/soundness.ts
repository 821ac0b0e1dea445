import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { Problem } from '../../core/problem.ts'
import type { Asset } from '../../core/task.ts'

/** Enough for every film that is asked for again and again, in a few megabytes. */
const remembered = 10_000

export interface Soundness {
  /** What was found to be damaged is sent no more, whatever part of it is asked for. */
  refuse(asset: Asset): void
  /** The whole film. Its last chunk is passed on only if all bytes are right, so that nobody takes it for complete. */
  check(source: Readable, asset: Asset): Readable
}

/**
 * What this process knows of the bytes of stored films. Disks rot: the first time a film is read wholly its bytes are
 * held against the digest that was taken when it was stored. Later reads of it cost nothing more.
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

/** What is stored is not what it was, or is not there: nothing that the client could mend, or should wait for. */
export function unusable(cause: string): Problem {
  return new Problem(
    'internal',
    'The stored video is damaged or missing, so it is not sent. Please tell the operator.',
    {
      cause: new Error(cause),
    },
  )
}

/** The oldest is forgotten when there are too many. */
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

/** The same bytes; a chunk that `look` throws at is not passed on, and ends them. */
function through(source: Readable, look: (chunk: Buffer) => void): Readable {
  const looked = new Transform({
    readableHighWaterMark: 512 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      try {
        look(chunk)
      } catch (error) {
        return done(error as Error)
      }
      done(null, chunk)
    },
  })
  source.on('error', (error) => looked.destroy(error))
  looked.once('close', () => source.destroy())
  return source.pipe(looked)
}
