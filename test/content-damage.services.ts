import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, it } from 'node:test'
import { DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3 } from '../src/buckets/index.ts'
import { testDamage } from './content-damage.ts'
import { authorization, serveContent } from './content-server.ts'
import { startS3, type TestS3 } from './services/s3.ts'

let storage: TestS3
before(async () => {
  storage = await startS3()
})
after(() => storage[Symbol.asyncDispose]())

let count = 0
const nextPrefix = () => `damage-${count++}`

testDamage(async () => {
  const prefix = nextPrefix()
  const client = new S3Client({ ...storage, region: 'us-east-1', forcePathStyle: true })
  return {
    bucket: await openS3({ ...storage, prefix, forcePathStyle: true }),
    async replace(key, bytes) {
      const place = { Bucket: storage.bucket, Key: `${prefix}/${key}` }
      // The object has a valid checksum of its own: only our digest shows the damage.
      await (bytes
        ? client.send(new PutObjectCommand({ ...place, Body: bytes }))
        : client.send(new DeleteObjectCommand(place)))
    },
  }
})

it('bytes that change on the way are found by the checksum of the storage, also in a film that was sound before', async (test) => {
  let flips = false
  const proxy = createServer(async ({ method, url, headers }, answer) => {
    const asking = request(`${storage.endpoint}${url}`, { method, headers, setHost: false, agent: false })
    asking.end()
    const [real] = await once(asking, 'response')
    const body = await buffer(real)
    if (flips) body.writeUInt8(body.readUInt8(5) ^ 1, 5)
    answer.writeHead(real.statusCode, real.headers).end(body)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  test.after(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  const prefix = nextPrefix()
  const direct = await openS3({ ...storage, prefix, forcePathStyle: true })
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const proxied = await openS3({ ...storage, endpoint, prefix, forcePathStyle: true })
  const server = await serveContent({ ...direct, open: proxied.open }, 'proxy', { length: 3_000_000 })
  test.after(() => server.stop())
  const get = () => fetch(`${server.url}${server.path}`, { headers: { authorization } })
  assert.ok(server.video.equals(Buffer.from(await (await get()).arrayBuffer())))
  flips = true
  await assert.rejects(async () => (await get()).arrayBuffer(), /terminated|aborted/)
  assert.match(server.errors[0] ?? '', /[Cc]hecksum mismatch/)
  // The connection failed; the stored video is fine.
  flips = false
  assert.ok(server.video.equals(Buffer.from(await (await get()).arrayBuffer())))
})
