import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { startService } from './service.ts'

it('a bucket that hangs leaves the service ready, and is checked once for all requests', async () => {
  let asked = 0
  let hangs = true
  await using s3 = createServer((_, response) => {
    asked += 1
    if (!hangs) response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => s3.listen(0, '127.0.0.1', resolve))
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'a key', AWS_SECRET_ACCESS_KEY: 'its secret' })
  const endpoint = `http://127.0.0.1:${(s3.address() as AddressInfo).port}`
  const env = { FILMGATE_BUCKET: `s3://films?endpoint=${encodeURIComponent(endpoint)}&path_style=true` }
  await using service = await startService({ env })
  const answers = Array.from({ length: 20 }, async () => {
    const answer = await service.fetch('/readyz')
    return [answer.status, await answer.json()]
  })
  for (const answer of await Promise.all(answers))
    assert.deepEqual(answer, [200, { status: 'ok', reason: null, store: 'ok', bucket: 'unavailable' }])
  // By the start, and by all of them together.
  assert.equal(asked, 2)
  assert.equal((await service.fetch('/v1/videos')).status, 200)
  // So that nobody waits for it any more.
  hangs = false
  s3.closeAllConnections()
})
