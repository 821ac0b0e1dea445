import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { simulated } from '../simulators/provider.ts'
import { startUpstream } from '../simulators/upstream.ts'
import { providers } from '../src/providers/index.ts'
import { operatorToken, startService, type TestService } from './service.ts'
import { startPlaces } from './services/places.ts'

/* What an operator changes at one process is in force at another. */

const members = { ...providers, ...simulated }
const places = await startPlaces({ fsync: 'off' })
after(() => places[Symbol.asyncDispose]())

const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
const start = (role: string) => startService({ members, env: places.settings(role) })

async function post(service: TestService, path: string, body: object = {}): Promise<void> {
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await service.fetch(`/operator/v1${path}`, init)
  assert.equal(answer.status, 200, await answer.text())
}

/** Milliseconds until the account has this mode at the process; undefined: until it is gone. */
async function timeUntil(service: TestService, mode: string | undefined): Promise<number> {
  const begin = performance.now()
  for (;;) {
    const answer = await service.fetch('/operator/v1/accounts/main', { headers })
    const shown = (await answer.json()) as { mode?: string }
    const passed = performance.now() - begin
    if (shown.mode === mode) return passed
    // Much longer than it takes, for a machine that is busy with other tests.
    assert.ok(passed < 30_000, `still ${JSON.stringify(shown)}`)
    await setTimeout(5)
  }
}

it('a second process follows every change of an account, and a worker generates with it', async (test) => {
  await using upstream = await startUpstream()
  await using one = await start('api')
  await using other = await start('api')
  await using _worker = await start('worker')
  const account = { name: 'main', provider: 'sim-none', base_url: upstream.url, key: 'sk-a-key-of-the-provider' }
  await post(one, '/accounts', account)
  const took: Record<string, number> = { added: await timeUntil(other, 'active') }
  const film = { model: 'sim-none', prompt: 'a fox', seconds: '4', size: '1280x720' }
  const answer = await other.submit(film)
  const { id } = (await answer.json()) as { id: string }
  assert.equal(answer.status, 200)
  assert.equal((await other.finish(id)).status, 'completed')
  await post(other, '/accounts/main/pause')
  took.paused = await timeUntil(one, 'paused')
  await post(one, '/accounts/main/resume')
  took.resumed = await timeUntil(other, 'active')
  const removed = await one.fetch('/operator/v1/accounts/main', {
    method: 'DELETE',
    headers: { authorization: headers.authorization },
  })
  assert.equal(removed.status, 200, await removed.text())
  took.removed = await timeUntil(other, undefined)
  const shown = Object.entries(took).map(([what, ms]) => `${what} ${Math.round(ms)} ms`)
  test.diagnostic(`in force at the second process after: ${shown.join(', ')}`)
})
