import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Bucket } from '../buckets/bucket.ts'
import { openDisk, openS3 } from '../buckets/index.ts'
import type { BucketPlace, StorePlace } from '../config/places.ts'
import { messageOf } from '../core/problem.ts'
import { type DataFolder, openDataFolder } from '../data-folder.ts'
import { openPostgresTransfer, openSqliteTransfer } from '../stores/index.ts'
import type { Transfer } from '../stores/transfer/transfer.ts'

/** Where a service keeps its rows and bytes. */
export interface Place {
  /** Null only if it has neither rows nor bytes. */
  data: string | null
  store: StorePlace
  bucket: BucketPlace
}

/** Both sides, open. The target is null for what does not move. */
export interface Sides extends AsyncDisposable {
  source: Transfer
  target: Transfer | null
  buckets: { source: Bucket; target: Bucket } | null
  /** The folders of the accounts, if they have to move. */
  folders: { from: string; to: string } | null
  /** The key files of the secrets, if rows move from one data folder to another. */
  keys: { from: string; to: string } | null
}

export async function openSides({ from, to }: { from: Place; to: Place }): Promise<Sides> {
  await using stack = new AsyncDisposableStack()
  if (from.data !== null) refuseForeign(from.data, from)
  const fromFolder = from.data === null ? null : stack.use(lock(from.data, 'source'))
  if (from.data !== null && to.data !== null) refuseInside(to.data, from.data)
  const sameFolder = from.data !== null && to.data !== null && realPath(from.data) === realPath(to.data)
  const toFolder = sameFolder ? fromFolder : to.data === null ? null : stack.use(lock(to.data, 'target'))
  const stays = isSame(from, to)
  if (fromFolder && !stays.store) refuseSpilled(fromFolder)
  const source = stack.use(await openTransfer(from.store, fromFolder, 'source'))
  const target = stays.store ? null : stack.use(await openTransfer(to.store, toFolder, 'target', source))
  const buckets = stays.bucket
    ? null
    : { source: await openBucket(from.bucket, fromFolder), target: await openBucket(to.bucket, toFolder) }
  const folders = fromFolder && toFolder && !sameFolder ? { from: fromFolder.accounts, to: toFolder.accounts } : null
  const keepsKey = folders !== null && from.store.kind === 'sqlite' && to.store.kind === 'sqlite'
  const keys = keepsKey && fromFolder && toFolder ? { from: fromFolder.secretKey, to: toFolder.secretKey } : null
  const resources = stack.move()
  return { source, target, buckets, folders, keys, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** What does not move. */
export function isSame(from: Place, to: Place): { store: boolean; bucket: boolean } {
  const folderOf = ({ data }: Place) => (data === null ? null : realPath(data))
  const storeOf = (place: Place) => JSON.stringify(place.store.kind === 'sqlite' ? folderOf(place) : place.store)
  const bucketOf = (place: Place) => JSON.stringify(place.bucket.kind === 'disk' ? folderOf(place) : place.bucket)
  return { store: storeOf(from) === storeOf(to), bucket: bucketOf(from) === bucketOf(to) }
}

/** The place of its rows, without a password. */
export function nameOf({ data, store }: Place): string {
  if (store.kind === 'sqlite') return realPath(data ?? '')
  const url = new URL(store.url)
  return `postgres://${url.host}${url.pathname}`
}

/** The target of a move. The same rows with videos in another bucket are another target. */
export function targetOf({ from, to }: { from: Place; to: Place }): string {
  const { data, store, bucket } = to
  if (isSame(from, to).bucket || (store.kind === 'sqlite' && bucket.kind === 'disk')) return nameOf(to)
  const videos = bucket.kind === 'disk' ? realPath(data ?? '') : `s3://${bucket.bucket}/${bucket.prefix}`
  // This text is kept in the source, and compared by later runs.
  return `${nameOf(to)}, its films to ${videos}`
}

/** One name for each folder, without links. Of a folder that does not exist yet, the existing part is resolved. */
function realPath(path: string): string {
  const whole = resolve(path)
  if (existsSync(whole)) return realpathSync(whole)
  const parent = dirname(whole)
  return parent === whole ? whole : join(realPath(parent), basename(whole))
}

/** Before anything is written: the folder may belong to another program. */
function refuseForeign(path: string, { store }: Place): void {
  const whole = resolve(path)
  if (!existsSync(whole)) throw new Error(`there is no data folder ${whole}`)
  if (!statSync(whole).isDirectory())
    throw new Error(`${whole} is not a folder; choose the data folder with --from-data`)
  const has = (name: string) => existsSync(join(whole, name))
  if (store.kind === 'sqlite' && !has('filmgate.db')) throw new Error(`there is no database in ${whole}`)
  if (store.kind === 'sqlite' && statSync(join(whole, 'filmgate.db')).size === 0)
    throw new Error(`the database in ${whole} is an empty file; restore it from a backup first`)
  if (!['filmgate.db', 'bucket', 'accounts', 'lock.db'].some(has))
    throw new Error(`${whole} is not a data folder of Filmgate; choose the right one with --from-data`)
}

/** An operator who removes the old folder later would remove both. */
function refuseInside(inner: string, outer: string): void {
  if (realPath(inner).startsWith(`${realPath(outer)}${sep}`))
    throw new Error(`${resolve(inner)} is inside the source; choose another folder with --to-data`)
}

function lock(path: string, side: 'source' | 'target'): DataFolder {
  try {
    return openDataFolder(path)
  } catch (error) {
    const { errcode } = (error as Error).cause as { errcode?: number }
    const busy = 5
    if (errcode === busy)
      throw new Error(`a Filmgate is running on the data folder ${resolve(path)}; stop it first`, { cause: error })
    const flag = side === 'source' ? '--from-data' : '--to-data'
    throw new Error(messageOf(error).replace(/--data$/, flag), { cause: error })
  }
}

/** Responses of providers that are not in the database yet. They may be the only trace of a paid job. */
function refuseSpilled({ path, spill }: DataFolder): void {
  const spilled = existsSync(spill) ? readdirSync(spill).filter((name) => name.endsWith('.json')) : []
  if (spilled.length > 0)
    throw new Error(
      `the data folder ${path} has responses of providers that are not in its database yet; start the service there once and stop it`,
    )
}

async function openTransfer(
  store: StorePlace,
  folder: DataFolder | null,
  as: 'source' | 'target',
  source?: Transfer,
): Promise<Transfer> {
  if (store.kind === 'sqlite') return openSqliteTransfer({ folder: folder?.path ?? '', as })
  try {
    return await openPostgresTransfer(store.url, source)
  } catch (error) {
    throw new Error(`the ${as}: ${messageOf(error)}`, { cause: error })
  }
}

async function openBucket(bucket: BucketPlace, folder: DataFolder | null): Promise<Bucket> {
  if (bucket.kind === 's3') return openS3(bucket)
  if (!folder) throw new Error('there is no data folder for the videos')
  return openDisk({ folder: folder.bucket })
}
