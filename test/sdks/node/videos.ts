import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import * as sdk from 'openai-7.53'
import { checkDerived } from './derived.ts'
import {
  check,
  connect,
  create,
  film,
  finish,
  image,
  made,
  openai,
  type Params,
  refused,
  report,
  source,
  type Video,
} from './program.ts'

const { AuthenticationError, BadRequestError, NotFoundError, UnprocessableEntityError } = sdk

export async function checkVideos(): Promise<void> {
  await checkCreate()
  await checkIdempotency()
  for (const row of ['create and poll', 'poll']) report({ row, none: 'the SDK has no such helper' })
  await checkRetrieve()
  await checkContent()
  await checkDerived()
  await checkList()
  await checkDelete()
}

/**
 * All fields of the SDK, and no others except those that Filmgate adds. A field that does not apply is null, as the types
 * of the SDK say.
 */
export function assertVideo(video: Video, expected: Partial<Video>): void {
  const { id, created_at, ...whole } = video as Video & Record<'eta' | 'queue_position' | 'output', unknown>
  const { eta, queue_position, output, ...shown } = whole
  const { warnings, metadata, usage, status_detail, ...rest } = shown as typeof shown &
    Record<'warnings' | 'metadata' | 'usage' | 'status_detail', unknown>
  assert.deepEqual([warnings, metadata, usage, output === null], [null, null, null, video.status !== 'completed'])
  const isFinished = video.status === 'completed' || video.status === 'failed'
  assert.ok(isFinished ? status_detail === null : typeof status_detail === 'string', String(status_detail))
  for (const own of [eta ?? 0, queue_position ?? 0]) assert.ok(Number.isInteger(own))
  assert.match(id, /^video_[0-9a-f]{48}$/)
  assert.ok(Number.isInteger(created_at) && Math.abs(created_at - Date.now() / 1_000) < 120)
  const nothing = { completed_at: null, expires_at: null, error: null, remixed_from_video_id: null }
  const asked = { object: 'video', model: 'studio', prompt: film.prompt, seconds: '1', size: '256x256' }
  assert.deepEqual(rest, { ...asked, status: 'queued', progress: 0, ...nothing, ...expected })
}

async function checkCreate(): Promise<void> {
  await check('videos.create, text', async () => {
    assertVideo(await create(), {})
    assertVideo(await create({ model: 'sora-2' }), { model: 'sora-2' })
  })
  await check('videos.create, file', async () => {
    const input_reference = await sdk.toFile(await readFile(image), 'reference.png', { type: 'image/png' })
    const video = await create({ input_reference })
    assertVideo(video, {})
    assert.equal((await finish(video)).status, 'completed')
  })
  await check('videos.create, object', async () => {
    const image_url = `data:image/png;base64,${await readFile(image, 'base64')}`
    const video = await create({ input_reference: { image_url } })
    assertVideo(video, {})
    assert.equal((await finish(video)).status, 'completed')
  })
  await check('videos.create, a wrong length', () =>
    refused(() => create({ seconds: '99' } as unknown as Params), {
      ...{ kind: BadRequestError, status: 400, code: 'invalid_value', param: 'seconds' },
    }),
  )
  await check('videos.create, a wrong key', () =>
    refused(() => connect('wrong').videos.create(film), {
      ...{ kind: AuthenticationError, status: 401, code: 'invalid_api_key', param: null },
    }),
  )
}

async function checkIdempotency(): Promise<void> {
  const once = { 'Idempotency-Key': 'once and only once' }
  await check('videos.create, same Idempotency-Key', async () => {
    const first = await create({}, once)
    assert.equal((await create({}, once)).id, first.id)
    assert.notEqual((await create({}, { 'Idempotency-Key': 'another' })).id, first.id)
  })
  await check('videos.create, same key for another video', () =>
    refused(() => create({ prompt: 'a harbour' }, once), {
      ...{ kind: UnprocessableEntityError, status: 422, code: 'idempotency_key_reused', param: 'Idempotency-Key' },
    }),
  )
}

async function checkRetrieve(): Promise<void> {
  await check('videos.retrieve, completed', async () => {
    const video = await openai.videos.retrieve((await source()).id)
    const { completed_at, expires_at } = video
    assertVideo(video, { status: 'completed', progress: 100, completed_at, expires_at })
    assert.ok(Number.isInteger(completed_at) && Number(completed_at) >= video.created_at)
    assert.ok(Number.isInteger(expires_at) && Number(expires_at) > Number(completed_at))
  })
  await check('videos.retrieve, failed', async () => {
    const video = await finish(await create({ input_reference: { image_url: 'http://127.0.0.1:1/missing.png' } }))
    const { error, progress } = video
    assertVideo(video, { status: 'failed', progress, error })
    assert.ok(progress < 100)
    assert.equal(error?.code, 'image_unavailable')
    assert.match(error?.message ?? '', /\S.{9,}/)
  })
  await check('videos.retrieve, unknown', () =>
    refused(() => openai.videos.retrieve('video_none'), {
      ...{ kind: NotFoundError, status: 404, code: 'video_not_found', param: 'video_id' },
    }),
  )
}

export async function download(id: string, variant?: 'thumbnail' | 'spritesheet') {
  const response = await openai.videos.downloadContent(id, variant ? { variant } : {})
  const bytes = Buffer.from(await response.arrayBuffer())
  assert.equal(response.headers.get('content-length'), String(bytes.length))
  return { bytes, type: response.headers.get('content-type') }
}

async function checkContent(): Promise<void> {
  await check('videos.downloadContent', async () => {
    const { bytes, type } = await download((await source()).id)
    assert.deepEqual([type, bytes.toString('latin1', 4, 8)], ['video/mp4', 'ftyp'])
  })
  await check('videos.downloadContent, thumbnail', async () => {
    const { bytes, type } = await download((await source()).id, 'thumbnail')
    const magic = bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12)
    assert.deepEqual([type, magic], ['image/webp', 'RIFFWEBP'])
  })
  await check('videos.downloadContent, spritesheet', async () => {
    const { bytes, type } = await download((await source()).id, 'spritesheet')
    assert.deepEqual([type, bytes.toString('hex', 0, 3)], ['image/jpeg', 'ffd8ff'])
  })
}

async function checkList(): Promise<void> {
  const rows = { 'videos.list, oldest first': 'asc', 'videos.list, newest first': 'desc' } as const
  for (const [row, order] of Object.entries(rows)) {
    await check(row, async () => {
      const ids = [...made].sort()
      if (order === 'desc') ids.reverse()
      assert.ok(ids.length > 4)
      const pages: string[][] = []
      for await (const page of (await openai.videos.list({ limit: 2, order })).iterPages())
        pages.push(page.data.map(({ id }) => id))
      assert.deepEqual(pages.flat(), ids)
      assert.ok(pages.slice(0, -1).every((page) => page.length === 2))
      const all: string[] = []
      for await (const video of openai.videos.list({ limit: 2, order })) all.push(video.id)
      assert.deepEqual(all, ids)
    })
  }
}

async function checkDelete(): Promise<void> {
  await check('videos.delete', async () => {
    const { id } = await create()
    made.delete(id)
    assert.deepEqual(await openai.videos.delete(id), { id, object: 'video.deleted', deleted: true })
    await refused(() => openai.videos.retrieve(id), {
      ...{ kind: NotFoundError, status: 404, code: 'video_not_found', param: 'video_id' },
    })
  })
}
