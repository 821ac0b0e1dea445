import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openS3 } from '../buckets/s3.ts'
import { mediaOriginsOf } from './media-origins.ts'

interface Address {
  bucket: string
  endpoint?: string
  region?: string
  forcePathStyle?: boolean
}

const originsOf = (address: Address) => mediaOriginsOf({ bucket: { kind: 's3', ...address }, handover: 'redirect' })

/** The origin of a link that the SDK signs. */
async function linkedOrigin(address: Address): Promise<string> {
  const credentials = { accessKeyId: 'a key', secretAccessKey: 'a secret' }
  const bucket = await openS3({ prefix: '', credentials, ...address })
  return new URL((await bucket.link?.('video_1/video.mp4', { expiresInSeconds: 60, type: 'video/mp4' })) ?? '').origin
}

const r2 = 'https://account.r2.cloudflarestorage.com'
const endpoints: [Address, origin: string][] = [
  [{ bucket: 'films', endpoint: r2 }, 'https://films.account.r2.cloudflarestorage.com'],
  [{ bucket: 'films', endpoint: r2, forcePathStyle: false }, 'https://films.account.r2.cloudflarestorage.com'],
  [{ bucket: 'films', endpoint: r2, forcePathStyle: true }, r2],
  [{ bucket: 'films', endpoint: 'https://s3.example.com:8443/' }, 'https://films.s3.example.com:8443'],
  [{ bucket: 'films', endpoint: 'http://minio:9000' }, 'http://films.minio:9000'],
  [{ bucket: 'films', endpoint: 'http://10.0.0.7:9000' }, 'http://10.0.0.7:9000'],
  [{ bucket: 'films', endpoint: 'http://[::1]:9000' }, 'http://[::1]:9000'],
  [{ bucket: 'my.films', endpoint: 'https://s3.example.com' }, 'https://s3.example.com'],
  [{ bucket: 'My_Films', endpoint: 'https://s3.example.com' }, 'https://s3.example.com'],
]

it('the page may load from the origin of the links to a bucket, in each form of its address', async () => {
  for (const [address, origin] of endpoints) {
    assert.deepEqual(originsOf(address), [origin])
    assert.equal(await linkedOrigin(address), origin)
  }
})

it('the page may load from a bucket at AWS, in each part of it', async () => {
  for (const region of ['eu-central-1', 'us-gov-west-1', 'cn-north-1', 'eusc-de-east-1'])
    for (const bucket of ['films', 'my.films']) {
      const { host } = new URL(await linkedOrigin({ bucket, region }))
      const isAllowed = originsOf({ bucket, region }).some((one) => host.endsWith(one.replace('https://*', '')))
      assert.ok(isAllowed, host)
    }
})

it('without a redirect, videos come from the service alone', () => {
  const bucket = { kind: 's3', bucket: 'films', endpoint: r2 } as const
  assert.deepEqual(mediaOriginsOf({ bucket, handover: 'proxy' }), [])
  assert.deepEqual(mediaOriginsOf({ bucket: { kind: 'disk' }, handover: 'proxy' }), [])
})
