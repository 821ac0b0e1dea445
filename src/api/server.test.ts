import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
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

it('a request that announces JSON and has no body is answered', async () => {
  const { log } = openTelemetry({ write: () => {}, now: () => 0, secrets: [] })
  const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) }
  await using app = openServer({ log, clock, random: openRandom(), turns: openPieceTurns() })
  app.post('/needed', { schema: { body: { type: 'object' } } }, () => ({}))
  app.delete('/optional', () => ({ deleted: true }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  for (const [line, said] of [
    ['POST /needed', /^HTTP\/1\.1 400 .*"The body is empty\. Send a JSON object\."/s],
    ['DELETE /optional', /^HTTP\/1\.1 200 .*\{"deleted":true\}/s],
  ] as const) {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
    socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n`)
    const [answer] = await once(socket, 'data')
    socket.destroy()
    assert.match(answer, said)
  }
})
