import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { Gateway } from './gateway.ts'
import { startService } from './service.ts'

/* A provider that generates another size and length than it was asked for: 64x36 and 1 s, whatever the request says. */

type Video = Record<string, unknown> & { id: string }

const shape = { width: 64, height: 36, duration: 1, frame_rate: 8, codec: 'h264' }
const warnings = ['`seconds` was 4; the provider generated 1 s.', '`size` was 1280x720; the provider generated 64x36.']
const member = simulated['sim-none'] ?? assert.fail()
/** Only the request is checked here, and not what it draws. */
const cards = member.cards.map((card) => ({ ...card, makes: ['remix', 'extension'] as const }))

let gateway: Gateway
let output: typeof shape & { bytes: number }
let video: Video

before(async () => {
  gateway = await Gateway.open({ accounts: { main: {} }, members: { 'sim-none': { ...member, cards } } })
  const id = await gateway.submit('sim-none')
  const queued = await get(`/v1/videos/${id}`)
  assert.deepEqual([queued.seconds, queued.size, 'output' in queued], ['4', '1280x720', false])
  await gateway.makes(id, 'sim-none')
  video = (await get(`/v1/videos/${id}`)) as Video
  const content = await gateway.service.fetch(`/v1/videos/${id}/content`)
  output = { ...shape, bytes: (await content.arrayBuffer()).byteLength }
})
after(() => gateway[Symbol.asyncDispose]())

async function get(path: string, headers = {}): Promise<Record<string, unknown>> {
  return (await (await gateway.service.fetch(path, { headers })).json()) as Record<string, unknown>
}

async function post(path: string, body: object): Promise<Video> {
  const headers = { 'content-type': 'application/json' }
  const response = await gateway.service.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Video
}

it('what is reported is what was generated, with a warning for each difference', () => {
  assert.deepEqual([video.status, video.seconds, video.size], ['completed', '1', '64x36'])
  assert.deepEqual(video.output, output)
  assert.deepEqual(video.warnings, warnings)
})

it('it is the same in lists, in events and for the SDKs', async () => {
  const list = (await get('/v1/videos')) as { data: Video[] }
  assert.deepEqual(list.data, [video])
  const filtered = (await get('/v1/videos?status=completed')) as { data: Video[] }
  assert.deepEqual(filtered.data, [video])
  const events = await (await gateway.service.fetch(`/v1/videos/${video.id}/events`)).text()
  const [, data = ''] = /^event: video\.completed\ndata: (.*)$/m.exec(events) ?? []
  assert.deepEqual(JSON.parse(data), video)
  const forSdks = await get(`/v1/videos/${video.id}`, { 'x-stainless-lang': 'js' })
  assert.deepEqual([forSdks.output, forSdks.warnings, forSdks.seconds], [output, warnings, '1'])
})

it('the operator sees the request, the result, and the warning in the timeline', async () => {
  const task = await gateway.service.operator<Record<string, unknown>>(`/tasks/${video.id}`)
  assert.deepEqual([task.seconds, task.size], ['4', '1280x720'])
  assert.deepEqual([task.output, task.warnings], [output, warnings])
  const noted = (task.timeline as { name: string; detail: unknown }[]).filter(({ name }) => name === 'warning')
  assert.deepEqual(
    noted.map(({ detail }) => detail),
    [warnings.join(' ')],
  )
})

it('a remix repeats the request; an extension counts the seconds that there are', async () => {
  const remix = await post(`/v1/videos/${video.id}/remix`, { prompt: 'at night' })
  assert.deepEqual([remix.seconds, remix.size], ['4', '1280x720'])
  const extension = await post('/v1/videos/extensions', { prompt: 'on', seconds: '3', video: { id: video.id } })
  assert.equal(extension.seconds, '4')
  await Promise.all([remix, extension].map(({ id }) => gateway.follow(id)))
})

it('a repeat with the same idempotency key gets the first answer, however the video came out', async () => {
  const body = { model: 'sim-none', prompt: 'again', seconds: '4' }
  const headers = { 'idempotency-key': 'one' }
  const first = (await (await gateway.service.submit(body, headers)).json()) as Video
  await gateway.makes(first.id, 'again')
  assert.deepEqual(await (await gateway.service.submit(body, headers)).json(), first)
})

it('a video of the built-in renderer is as it was requested', async () => {
  await using service = await startService()
  const body = { model: 'studio', prompt: 'a fox', seconds: '2', size: '320x256' }
  const { id } = (await (await service.submit(body)).json()) as Video
  const made = await service.finish(id)
  assert.deepEqual([made.seconds, made.size, 'warnings' in made], ['2', '320x256', false])
  const { bytes, ...rest } = made.output as typeof output
  assert.deepEqual(rest, { width: 320, height: 256, duration: 2, frame_rate: 24, codec: 'h264' })
  const content = await service.fetch(`/v1/videos/${id}/content`)
  assert.equal(bytes, (await content.arrayBuffer()).byteLength)
})
