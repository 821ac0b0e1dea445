import { Problem } from '../../core/problem.ts'
import type { Asset } from '../../core/task.ts'
import { openDigests } from './digests.ts'

/** Enough for all videos that are often downloaded, in a few megabytes of memory. */
const remembered = 10_000

export interface Soundness extends AsyncDisposable {
  /** Throws if the asset is known to be damaged, whichever part of it is requested. */
  refuse(asset: Asset): void
  /** Begins to check a whole asset. Undefined if it is known to be intact. */
  begin(asset: Asset): Check | undefined
}

export interface Check extends Disposable {
  /**
   * Takes the next bytes, which must not change until this resolves. With the last ones, throws if any were wrong: if
   * each chunk is sent only afterwards, a damaged asset never looks complete.
   */
  add(chunk: Uint8Array): Promise<void>
}

/**
 * Which stored videos this process knows to be intact or damaged, because disks can fail. The first full read of a
 * video is compared with the digest from when it was stored. Later reads cost nothing more.
 */
export function openSoundness(): Soundness {
  const sound = boundedSet(remembered)
  const damaged = boundedSet(remembered)
  const digests = openDigests()

  function refuse({ key }: Asset): void {
    if (damaged.has(key)) throw unusable(`${key} has other bytes than were stored`)
  }

  function judge({ key, sha256 }: Asset, found: string): void {
    const known = found === sha256 ? sound : damaged
    known.add(key)
    if (known === damaged) throw unusable(`${key} has the SHA-256 ${found}, ${sha256} was stored`)
  }

  function begin(asset: Asset): Check | undefined {
    if (sound.has(asset.key)) return undefined
    const digest = digests.begin()
    let left = asset.bytes
    return {
      async add(chunk) {
        left -= chunk.length
        await digest.update(chunk)
        if (left === 0) judge(asset, await digest.result())
      },
      [Symbol.dispose]: () => digest[Symbol.dispose](),
    }
  }

  return { refuse, begin, [Symbol.asyncDispose]: () => digests[Symbol.asyncDispose]() }
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
