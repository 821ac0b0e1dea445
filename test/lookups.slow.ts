import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startNameServer } from '../src/outbound/name-server.fixture.ts'
import { sendJson, startScripted } from './scripted-upstream.ts'
import { startService } from './service.ts'

/*
 * 40 webhook updates to names whose name server is silent once paused all provider accounts for minutes: all lookups of
 * the process waited for the same two threads, and none could be aborted.
 */
it("names that never resolve, in one token's webhooks, delay no provider and no other token", async () => {
  await using names = await startNameServer((name) =>
    name.startsWith('silent') ? 'silent' : { addresses: ['1.1.1.1'] },
  )
  await using upstream = await startScripted()
  let made = 0
  upstream.onSubmit = (response) => sendJson(response, { id: `video_${made++}`, status: 'queued' })
  const yaml = `
    tokens: [{ name: mallory, secret: mallory }, { name: alice, secret: alice }]
    engines: [{ url: "${upstream.url.replace('127.0.0.1', 'localhost')}", name: gpu }]`
  // Longer than the video takes, so that the attack lasts all the time.
  const outbound = { nameServers: [names.address], deadlines: { checkMs: 10_000 } }
  await using service = await startService({ yaml, world: { outbound } })

  const post = async (secret: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const answer = await service.fetch(`/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.equal(answer.status, 200)
    return (await answer.json()) as Record<string, string>
  }
  const makeVideo = async () => {
    const { id } = await post('alice', '/videos', { model: 'film', prompt: `a fox ${made}` })
    for (let status = ''; status !== 'completed'; ) {
      const seen = await service.fetch(`/v1/videos/${id}?wait=5`, { headers: { authorization: 'Bearer alice' } })
      status = ((await seen.json()) as { status: string }).status
      assert.notEqual(status, 'failed')
    }
  }
  const silentNames = () => new Set(names.questions.filter((question) => question.startsWith('A silent'))).size

  await makeVideo()
  const hook = { name: 'x', url: 'https://hooks.test/', event_types: ['video.completed'] }
  const { id } = await post('mallory', '/webhook_endpoints', hook)
  let ended = 0
  const updates = Array.from({ length: 40 }, async (_, at) => {
    await post('mallory', `/webhook_endpoints/${id}`, { url: `https://silent${at}.test/` })
    ended += 1
  })
  while (silentNames() < 8) await new Promise(setImmediate)
  await makeVideo()
  await post('alice', '/webhook_endpoints', { ...hook, url: 'https://alice.test/' })
  assert.ok(names.questions.includes('A alice.test'))
  assert.ok(ended < 40, 'it waited for the lookups of the other token')
  assert.deepEqual(
    service.log.filter((line) => line.includes('account paused')),
    [],
  )
  await Promise.all(updates)
})
