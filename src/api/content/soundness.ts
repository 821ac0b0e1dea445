import type { Bucket, OpenObject } from '../../buckets/bucket.ts'
import { openBounded } from '../../core/bounded.ts'
import type { Clock } from '../../core/clock.ts'
import { Problem } from '../../core/problem.ts'
import type { Asset } from '../../core/task.ts'
import { openDigests } from './digests.ts'

/** Enough for all videos that are often downloaded, in a few megabytes of memory. */
const remembered = 10_000
/** A disk or a network may read wrong once: afterwards damage is looked for again. */
const damagedMs = 60_000

export interface Soundness extends AsyncDisposable {
  /** Throws if the asset is known to be damaged, whichever part of it is requested. `isChecked`: it is about to be checked. */
  refuse(asset: Asset, isChecked: boolean): Promise<void>
  /** Begins to check a whole asset for a token. Undefined if it is known to be intact. */
  begin(asset: Asset, object: Pick<OpenObject, 'version'>, owner: string): Check | undefined
}

export interface Check extends Disposable {
  /**
   * Takes the next bytes, which must not change until this resolves. With the last ones, throws if any were wrong: if
   * each chunk is sent only afterwards, a damaged asset never looks complete.
   */
  add(chunk: Uint8Array): Promise<void>
}

/** What the last full read of an object found. It no longer counts if the object has changed since. */
interface Finding {
  version: string
  isSound: boolean
  at: number
}

/**
 * Which stored videos this process knows to be intact or damaged, because disks can fail. The first full read of a
 * video is compared with the digest from when it was stored. Later reads cost nothing more, until the object changes:
 * then it was restored, or damaged, and is compared again. One that was damaged may be read and compared again after a minute.
 */
export function openSoundness(bucket: Pick<Bucket, 'open'>, clock: Pick<Clock, 'now'>): Soundness {
  const findings = openBounded<Finding>(remembered)
  const digests = openDigests()

  async function refuse({ key }: Asset, isChecked: boolean): Promise<void> {
    const known = findings.get(key)
    if (!known || known.isSound) return
    if (isChecked && Math.abs(clock.now() - known.at) > damagedMs) return
    await using object = await bucket.open(key)
    if (object?.version === known.version) throw unusable(`${key} has other bytes than were stored`)
  }

  function judge({ key, sha256 }: Asset, version: string, found: string): void {
    const isSound = found === sha256
    findings.set(key, { version, isSound, at: clock.now() })
    if (!isSound) throw unusable(`${key} has the SHA-256 ${found}, ${sha256} was stored`)
  }

  function begin(asset: Asset, { version }: Pick<OpenObject, 'version'>, owner: string): Check | undefined {
    const known = findings.get(asset.key)
    if (known?.isSound && known.version === version) return undefined
    const digest = digests.begin(owner)
    let left = asset.bytes
    return {
      async add(chunk) {
        left -= chunk.length
        await digest.update(chunk)
        if (left === 0) judge(asset, version, await digest.result())
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
