import assert from 'node:assert/strict'
import { BadRequestError, toFile } from 'openai-7.53'
import { check, finish, keep, openai, refused, source, type Video } from './program.ts'
import { assertVideo, download } from './videos.ts'

/** Videos that are derived from videos. */
export async function checkDerived(): Promise<void> {
  await check('videos.remix', async () => {
    const { id } = await source()
    const video = keep(await openai.videos.remix(id, { prompt: 'a lighthouse at night' }))
    assertVideo(video, { prompt: 'a lighthouse at night', remixed_from_video_id: id })
    await assertFilm(video)
  })
  await check('videos.edit, by id', async () => {
    const { id } = await source()
    const video = keep(await openai.videos.edit({ prompt: 'in the rain', video: { id } }))
    assertVideo(video, { prompt: 'in the rain', remixed_from_video_id: id })
    await assertFilm(video)
  })
  await check('videos.edit, by file', async () => {
    const { bytes } = await download((await source()).id)
    const file = await toFile(bytes, 'film.mp4', { type: 'video/mp4' })
    const video = keep(await openai.videos.edit({ prompt: 'in the snow', video: file }))
    // The source is given only as a file: the model is the default one.
    assertVideo(video, { prompt: 'in the snow', model: 'sora-2' })
    await assertFilm(video)
  })
  await check('videos.extend, by id', async () => {
    const { id } = await source()
    const video = keep(await openai.videos.extend({ prompt: 'the sun rises', seconds: '4', video: { id } }))
    assertVideo(video, { prompt: 'the sun rises', seconds: '5' })
    await assertFilm(video)
  })
  const badRequest = { kind: BadRequestError, status: 400 }
  await check('videos.createCharacter', async () => {
    const video = await toFile((await download((await source()).id)).bytes, 'film.mp4', { type: 'video/mp4' })
    await refused(() => openai.videos.createCharacter({ name: 'Fox', video }), badRequest)
  })
  await check('videos.getCharacter', () => refused(() => openai.videos.getCharacter('char_1'), badRequest))
}

async function assertFilm(video: Video): Promise<void> {
  const { status, error, seconds, size } = await finish(video)
  assert.equal(status, 'completed', error?.message)
  assert.deepEqual([seconds, size], [video.seconds, video.size])
  assert.equal((await download(video.id)).bytes.toString('latin1', 4, 8), 'ftyp')
}
