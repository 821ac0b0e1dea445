import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { startUpstream } from '../simulators/upstream.ts'
import { providers } from '../src/providers/index.ts'
import { impatient } from './gateway.ts'
import { startService } from './service.ts'
import { startPlaces } from './services/places.ts'
import { causeEachDetail, yaml } from './status-details.ts'

/* `status_detail` on PostgreSQL, at a process that does none of the work. */

const places = await startPlaces({ fsync: 'off' })
after(() => places[Symbol.asyncDispose]())

const members = { ...providers, ...simulated }
const world = { outbound: { upstreamDeadlines: impatient } }
const start = (role: string) => startService({ yaml, members, world, env: places.settings(role) })

it('a process that only serves the API knows each detail', async () => {
  await using upstream = await startUpstream()
  await using api = await start('api')
  const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
  const { id } = (await (await api.submit(film)).json()) as { id: string }
  // It does not know whether another process runs a renderer.
  const video = (await (await api.fetch(`/v1/videos/${id}`)).json()) as { status_detail: string }
  assert.equal(video.status_detail, 'waiting_for_slot')
  await using _worker = await start('worker')
  assert.equal((await api.finish(id)).status, 'completed')
  await causeEachDetail(api, upstream)
})
