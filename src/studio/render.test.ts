import assert from 'node:assert/strict'
import { readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { mountDisk, notMounted } from '../../test/small-disk.ts'
import { film, manualClock, never, picture, temporaryFolder } from '../media/fixtures.ts'
import type { Film } from '../media/media.ts'
import { openMedia } from '../media/pool.ts'

const silent = () => {}

test('a film has exactly the requested size and duration', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 2 })
  const wanted: [number, number, number][] = [
    [256, 1920, 1],
    [1920, 256, 1],
    [256, 256, 3],
    [642, 358, 2],
    [1280, 720, 1],
  ]
  const films = wanted.map(([width, height, seconds]) =>
    film(folder.file(`${width}x${height}.mp4`), { seconds, size: { width, height } }),
  )
  await Promise.all(films.map((each) => media.render(each, silent, never)))
  for (const { path, seconds, size } of films) {
    assert.deepEqual(await media.verify(path, 'alice', never), { seconds, size, frameRate: 24, codec: 'h264' })
  }
})

test('a film starts playing before it is loaded, and its colours are tagged', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const path = folder.file('film.mp4')
  await media.render(film(path), silent, never)
  const bytes = await readFile(path)
  assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'))
  const nclx = bytes.indexOf('colrnclx')
  assert.deepEqual([...bytes.subarray(nclx + 8, nclx + 14)], [0, 1, 0, 1, 0, 1])
})

test('the same film has the same bytes, and another prompt others', async () => {
  await using folder = await temporaryFolder()
  const render = async (name: string, change: Partial<Film>) => {
    await using media = openMedia({ clock: manualClock(), renderers: 1 })
    await media.render(film(folder.file(name), change), silent, never)
    return await readFile(folder.file(name))
  }
  const first = await render('first', { prompt: 'A calm sea' })
  assert.ok(first.equals(await render('second', { prompt: 'A calm sea' })))
  assert.ok(!first.equals(await render('third', { prompt: 'A calm lake' })))
})

test('a seed and a caption that is left out make another film, each the same every time', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 2 })
  const render = async (change: Partial<Film>, index: number) => {
    const path = folder.file(`${index}.mp4`)
    await media.render(film(path, change), silent, never)
    return (await readFile(path)).toString('base64')
  }
  const changes: Partial<Film>[] = [
    {},
    { seed: null, caption: true },
    { seed: 7 },
    { seed: 7 },
    { seed: 8 },
    { caption: false },
  ]
  const [plain, same, seven, again, eight, bare] = await Promise.all(changes.map(render))
  assert.equal(plain, same)
  assert.equal(seven, again)
  assert.equal(new Set([plain, seven, eight, bare]).size, 4)
})

test('a film of an image shows the image, at any shape of both', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 2 })
  await media.render(film(folder.file('text.mp4')), silent, never)
  const text = await readFile(folder.file('text.mp4'))
  for (const [type, size] of [
    ['image/png', { width: 3000, height: 200 }],
    ['image/jpeg', { width: 100, height: 900 }],
    ['image/webp', { width: 1, height: 1 }],
  ] as const) {
    const image = folder.file('image')
    await writeFile(image, picture(size, type))
    const path = folder.file('image.mp4')
    await media.render(film(path, { image: { path: image } }), silent, never)
    assert.equal((await media.verify(path, 'alice', never)).seconds, 1)
    assert.ok(!text.equals(await readFile(path)))
  }
})

test('an image that cannot be read fails the film for good, and leaves nothing', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const image = folder.file('image')
  await writeFile(image, 'no image')
  const path = folder.file('film.mp4')
  await assert.rejects(media.render(film(path, { image: { path: image } }), silent, never), {
    code: 'generation_failed',
    retryable: false,
  })
  assert.deepEqual(await readdir(dirname(path)), ['image'])
})

test('progress rises to 100 and is reported once for each percent', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const told: number[] = []
  const path = folder.file('film.mp4')
  await media.render(
    film(path, { seconds: 6, size: { width: 256, height: 256 } }),
    (percent) => told.push(percent),
    never,
  )
  assert.deepEqual(
    told,
    [...new Set(told)].sort((a, b) => a - b),
  )
  assert.equal(told.at(-1), 100)
  assert.ok(told.length >= 99)
  assert.ok((await stat(path)).size > 0)
})

test('a disk that is full at any moment of a film fails it as such, and leaves no torn film', async (test) => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  await media.render(film(folder.file('whole.mp4')), silent, never)
  const { size } = await stat(folder.file('whole.mp4'))
  const disk = folder.file('disk')
  using mounted = mountDisk(disk, 'size=1m')
  if (!mounted) return test.skip(notMounted)
  const page = 4096
  const needed = Math.ceil(size / page) * page
  // Before the header, in the middle, in the last page: there only the move of the index to the front needs more room.
  for (const room of [0, page, Math.floor(needed / 2 / page) * page, needed - page]) {
    const { bavail, bsize } = await statfs(disk)
    await writeFile(join(disk, 'ballast'), Buffer.alloc(bavail * bsize - room))
    const full = media.render(film(join(disk, 'film.mp4')), silent, never)
    await assert.rejects(full, { code: 'storage_unavailable', retryable: true, cause: /No space left on device/ })
    assert.deepEqual(await readdir(disk), ['ballast'], `with ${room} bytes left`)
    await rm(join(disk, 'ballast'))
  }
  await media.render(film(join(disk, 'film.mp4')), silent, never)
  assert.equal((await stat(join(disk, 'film.mp4'))).size, size)
})
