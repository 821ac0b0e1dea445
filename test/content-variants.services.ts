import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { loadImage } from '@napi-rs/canvas'
import { startService, type TestService, until } from './service.ts'
import { startPlaces } from './services/places.ts'

/* Pictures of videos in S3: two processes generate them, and S3 itself serves them. */

const places = await startPlaces()
after(() => places[Symbol.asyncDispose]())
const { s3 } = places

const settings = (role: string) => ({ ...places.settings(role), FILMGATE_CONTENT: 'redirect' })

async function makeFilm(service: TestService): Promise<string> {
  const film = { model: 'studio', prompt: 'a lighthouse at dusk', seconds: '1', size: '256x320' }
  const { id } = (await (await service.submit(film)).json()) as { id: string }
  assert.equal((await service.finish(id)).status, 'completed')
  return id
}

async function keysOf(id: string): Promise<string[]> {
  const place = { endpoint: s3.endpoint, credentials: s3.credentials, region: 'us-east-1', forcePathStyle: true }
  const client = new S3Client(place)
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: `films/${id}/` }))
  client.destroy()
  return Contents.map(({ Key = '' }) => Key.split('/').at(-1)?.split('.', 1)[0] ?? '')
}

it('two processes at once lead to the same picture in S3, and it goes with its video', async () => {
  await using one = await startService({ env: settings('all') })
  await using two = await startService({ env: settings('api') })
  const id = await makeFilm(one)
  const path = (variant: string) => `/v1/videos/${id}/content?variant=${variant}`
  for (const [variant, type, ending] of [
    ['thumbnail', 'image/webp', 'webp'],
    ['spritesheet', 'image/jpeg', 'jpg'],
  ] as const) {
    const all = await Promise.all(
      [one, two, one, two].map(async (service) => {
        const answer = await service.fetch(path(variant))
        return { answer, bytes: Buffer.from(await answer.arrayBuffer()) }
      }),
    )
    for (const { answer } of all) {
      assert.ok(answer.redirected && answer.url.startsWith(s3.endpoint), answer.url)
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type])
      assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${id}.${ending}"`)
    }
    const [first, ...others] = all.map(({ bytes }) => bytes)
    for (const other of others) assert.ok(first?.equals(other))
    assert.equal((await loadImage(first ?? Buffer.alloc(0))).width, variant === 'thumbnail' ? 256 : 800)
    const heads = await Promise.all([one, two].map((service) => service.fetch(path(variant), { method: 'HEAD' })))
    const tags = heads.map(({ headers }) => [headers.get('etag'), headers.get('content-length')])
    assert.deepEqual(tags[0], tags[1])
    assert.equal(tags[0]?.[1], String(first?.length))
  }
  assert.deepEqual((await keysOf(id)).sort(), ['spritesheet', 'thumbnail', 'video'])
  for (const service of [one, two])
    assert.deepEqual(
      // A busy machine may fail a claim, which is repeated.
      service.log.filter((line) => line.includes('"level":"error"') && !line.includes('claim failed')),
      [],
    )
  await two.fetch(`/v1/videos/${id}`, { method: 'DELETE' })
  await until('nothing is kept', async () => (await keysOf(id)).length === 0)
  assert.equal((await two.fetch(path('thumbnail'))).status, 404)
})
