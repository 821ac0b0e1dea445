import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import type { Bucket } from '../../buckets/bucket.ts'
import { openDisk } from '../../buckets/disk.ts'
import { Problem } from '../../core/problem.ts'
import type { Task } from '../../core/task.ts'
import type { Media } from '../../media/media.ts'
import { openPictures, type Picture } from './pictures.ts'
import { openSoundness } from './soundness.ts'

const root = mkdtempSync(join(tmpdir(), 'filmgate-pictures-'))
after(() => rmSync(root, { recursive: true }))
const never = new AbortController().signal
let count = 0

/** Pictures that `still` creates, on a bucket; `film` stores a new video each time. */
async function world(still: Media['still'], change: (bucket: Bucket) => Partial<Bucket> = () => ({})) {
  const folder = join(root, String(count++))
  const scratch = join(folder, 'scratch')
  const disk = await openDisk({ folder: join(folder, 'bucket') })
  const bucket = { ...disk, ...change(disk) }
  const pictures = openPictures({
    bucket,
    media: { still } as Media,
    soundness: openSoundness(bucket, { now: () => 0 }),
    scratch,
  })
  let films = 0
  return {
    disk,
    pictures,
    async film(confirm: Picture['confirm'] = async () => {}, owner = 'alice'): Promise<Picture> {
      const id = `video_${String(films++).padStart(48, '0')}`
      const video = await disk.put(`${id}/video.1.mp4`, [Buffer.from(`the film ${id}`)], never)
      const task = { id, owner, state: 'completed', video, completedAt: 1, expiresAt: 2_000 } as Task
      return { task, video, kind: 'thumbnail', confirm }
    },
    leftovers: () => readdirSync(scratch),
  }
}

const pictureOf = async () => Buffer.from('a picture')

it('at most two pictures are created at once, one for each token, and each only once', async () => {
  const open = Promise.withResolvers<void>()
  let [now, most, made] = [0, 0, 0]
  const { pictures, film, leftovers } = await world(async () => {
    now += 1
    made += 1
    most = Math.max(most, now)
    await open.promise
    now -= 1
    return pictureOf()
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const films = await Promise.all(Array.from({ length: 8 }, () => film()))
  const asking = Promise.all([...films, ...films].map((picture) => pictures.find(picture)))
  while (now < 1) await turn()
  for (let turns = 0; turns < 100; turns += 1) await turn()
  assert.equal(most, 1)
  const other = pictures.find(await film(undefined, 'bob'))
  while (now < 2) await turn()
  open.resolve()
  const found = [...(await asking), await other]
  assert.deepEqual([most, made], [2, 9])
  assert.equal(new Set(found.map(({ key }) => key)).size, 9)
  assert.deepEqual(leftovers(), [])
})

it('tokens take turns: however many one requests, another waits only for the running ones', async () => {
  const made: string[] = []
  const { pictures, film } = await world(async (path) => {
    made.push(path)
    return pictureOf()
  })
  const films = await Promise.all(Array.from({ length: 100 }, () => film()))
  const many = Promise.all(films.map((picture) => pictures.find(picture)))
  const other = await film(undefined, 'bob')
  await pictures.find(other)
  const before = made.findIndex((path) => path.includes(other.task.id))
  assert.ok(before <= 4, `${before} pictures of alice came before the one of bob`)
  await many
})

it('when too many wait, the next request gets `overloaded`; a stored picture does not wait', async () => {
  const open = Promise.withResolvers<void>()
  const { pictures, film, disk } = await world(async () => {
    await open.promise
    return pictureOf()
  })
  const stored = await film()
  const key = `${stored.task.id}/thumbnail.${stored.video.sha256.slice(0, 16)}.webp`
  await disk.put(key, [Buffer.from('made long ago')], never)
  const films = await Promise.all(Array.from({ length: 202 }, () => film()))
  const found = Promise.allSettled(films.map((picture) => pictures.find(picture)))
  assert.equal((await pictures.find(stored)).bytes, 'made long ago'.length)
  open.resolve()
  const refused = (await found).flatMap((end) => (end.status === 'rejected' ? [end.reason as Problem] : []))
  assert.deepEqual(
    refused.map(({ code, retryable }) => [code, retryable]),
    [['rate_limit_exceeded', true]],
  )
})

it('a picture that another process stored first is used, even with other bytes', async () => {
  const { pictures, film } = await world(pictureOf, (disk) => ({
    async put(key, _body, signal) {
      await disk.put(key, [Buffer.from('a picture of theirs')], signal)
      throw new Error(`${key} has other bytes already`)
    },
  }))
  assert.equal((await pictures.find(await film())).bytes, 'a picture of theirs'.length)
})

it('two puts that failed at the same moment are tried again', async () => {
  let refusals = 1
  const { pictures, film } = await world(pictureOf, (disk) => ({
    async put(key, body, signal) {
      if (refusals-- > 0) throw Problem.ofStorage(new Error('ConditionalRequestConflict'))
      return disk.put(key, body, signal)
    },
  }))
  assert.equal((await pictures.find(await film())).bytes, 'a picture'.length)
})

it('the picture of a video that was removed meanwhile is removed; that of one whose row can not be read stays', async () => {
  for (const [code, stays] of [
    ['video_expired', false],
    ['video_not_found', false],
    ['storage_unavailable', true],
  ] as const) {
    const { pictures, film, disk } = await world(pictureOf)
    const gone = await film(async () => {
      throw new Problem(code, 'it went')
    })
    await assert.rejects(pictures.find(gone), { code })
    await using video = await disk.open(gone.video.key)
    assert.equal(video !== undefined, stays, code)
  }
})

it('a video that the child can not read is reported as such, to each request', async () => {
  const { pictures, film, leftovers } = await world(async () => {
    throw new Problem('unsupported_output', 'It could not be decoded.')
  })
  const picture = await film()
  for (const asking of [pictures.find(picture), pictures.find(picture)])
    await assert.rejects(asking, { code: 'internal', message: /^The thumbnail of this video could not be created\./ })
  assert.deepEqual(leftovers(), [])
})

it('a child that died says nothing about the video: the next request may succeed', async () => {
  const { pictures, film } = await world(async () => {
    throw new Problem('unsupported_output', 'It could not be decoded.', { cause: 'SIGSEGV', retryable: true })
  })
  await assert.rejects(pictures.find(await film()), { code: 'overloaded', retryable: true })
})

it('closing aborts running pictures, and waits for them', async () => {
  const begun = Promise.withResolvers<void>()
  const { pictures, film, leftovers } = await world(
    (_path, _kind, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        begun.resolve()
      }),
  )
  const ended = assert.rejects(pictures.find(await film()), { code: 'overloaded' })
  await begun.promise
  await pictures[Symbol.asyncDispose]()
  await ended
  assert.deepEqual(leftovers(), [])
})
