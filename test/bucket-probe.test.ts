import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startService, until } from './service.ts'

// Invalid on purpose: without credentials, the SDK would look for them on the network.
Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'nobody', AWS_SECRET_ACCESS_KEY: 'nothing' })
delete process.env.AWS_REGION
process.env.AWS_CONFIG_FILE = '/nowhere'

it('a bucket that can not be used is said at the start, with its fix, and the service starts all the same', async () => {
  for (const [bucket, said] of [
    ['s3://films?endpoint=http://127.0.0.1:1&path_style=true', /ECONNREFUSED.*; check the endpoint, and that it runs"/],
    ['s3://films', /Region is missing; add region=… to its URL, or set AWS_REGION"/],
  ] as const) {
    await using service = await startService({ env: { FILMGATE_BUCKET: bucket } })
    const warned = () => service.log.find((line) => line.includes('FILMGATE_BUCKET'))
    const line = await until('it warns', warned)
    assert.match(line, said)
    assert.match(line, /"level":"warn"/)
    assert.equal((await service.fetch('/livez')).status, 200)
  }
})
