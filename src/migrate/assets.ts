import type { Row } from '../core/row.ts'
import type { Asset, TaskImage, TaskSource } from '../core/task.ts'

export interface TaskAsset {
  task: string
  asset: Asset
}

/** The objects that the row of a task names; `broken` is what of it can't be read. */
export function assetsOf(row: Row): { assets: TaskAsset[]; broken: string[] } {
  const task = String(row.id)
  const assets: TaskAsset[] = []
  const broken: string[] = []
  for (const column of ['image', 'video', 'source'] as const) {
    const text = row[column]
    if (typeof text !== 'string') continue
    try {
      const asset = assetIn(JSON.parse(text))
      if (asset) assets.push({ task, asset })
    } catch {
      broken.push(column)
    }
  }
  return { assets, broken }
}

function assetIn(value: TaskImage | TaskSource | Asset): Asset | null {
  // An image that nobody has fetched yet is somebody else's; of a video that is drawn anew there is no copy.
  const asset = 'url' in value ? null : 'asset' in value ? value.asset : value
  if (asset === null) return null
  const { key, bytes, sha256 } = asset
  if (typeof key !== 'string' || typeof bytes !== 'number' || typeof sha256 !== 'string') throw new Error('no asset')
  return { key, bytes, sha256 }
}

/** Nobody can ask for them any more, so a process that died may have begun to remove them. */
export function isPast({ deleted_at: deletedAt, state, expires_at: expiresAt }: Row, now: number): boolean {
  return deletedAt !== null || state === 'failed' || (typeof expiresAt === 'number' && expiresAt <= now)
}
