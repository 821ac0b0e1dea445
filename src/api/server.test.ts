import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRandom } from '../main/random.ts'
import { openTelemetry } from '../telemetry/log.ts'
import { openPieceTurns } from './pieces.ts'
import { openServer } from './server.ts'

it('a worker names the roles that serve requests, and other processes name their routes', async () => {
  const { log } = openTelemetry({ write: () => {}, now: () => 0, secrets: [] })
  const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) }
  for (const [healthOnly, said] of [
    [true, /^Unknown request URL: POST \/v1\/videos\. This process is a worker.* the role api/],
    [false, /^Unknown request URL: POST \/v1\/videos\. See GET \/v1\/models/],
  ] as const) {
    await using app = openServer({ log, clock, random: openRandom(), turns: openPieceTurns(), healthOnly })
    const answer = await app.inject({ method: 'POST', url: '/v1/videos?x=1', payload: {} })
    const { error } = answer.json()
    assert.deepEqual([answer.statusCode, error.code], [404, 'unknown_url'])
    assert.match(error.message, said)
  }
})
