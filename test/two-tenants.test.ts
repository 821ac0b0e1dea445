import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Dialect, openaiWire } from '../simulators/openai.ts'
import { type Mark, markOf, startUpstream, type Upstream } from '../simulators/upstream.ts'
import { settleMs } from '../src/core/timing.ts'
import { providers } from '../src/providers/index.ts'
import { startGate } from './gate.ts'
import type { Shown, Video } from './gateway.ts'
import { jumpingClock, startService, type TestService, token, until } from './service.ts'

/*
 * Two tenants on one engine. The submit of the first fails and is not accepted. The submit of the second is accepted, and
 * its response is late. Meanwhile the first is looked up, and the engine lists only the job of the second.
 */

const secrets = { first: token, second: 'the key of the second tenant' }
type Tenant = keyof typeof secrets
const prompts = { first: 'a heron in the reeds', second: 'a red car at night' }

interface World extends AsyncDisposable {
  upstream: Upstream
  clock: ReturnType<typeof jumpingClock>
  /** The next response to a submit waits for `release`. */
  holdAnswer(): Promise<void>
  release(): void
  submit(tenant: Tenant, prompt: string): Promise<string>
  video(tenant: Tenant, id: string): Promise<Video>
  show(id: string): Promise<Shown>
  remove(tenant: Tenant, id: string): Promise<void>
  /** The prompt of the video that the tenant gets. */
  markOf(tenant: Tenant, id: string): Promise<Mark | undefined>
}

async function openWorld(dialect: Dialect, seconds: string): Promise<World> {
  await using stack = new AsyncDisposableStack()
  const clock = jumpingClock()
  const upstream = stack.use(await startUpstream({ wire: openaiWire(dialect) }))
  const gate = stack.use(await startGate(upstream.url))
  const yaml = JSON.stringify({
    accounts: { studio: { enabled: false } },
    engines: [{ url: gate.url, name: 'engine', concurrency: 8 }],
    models: { film: { account: 'engine', model: 'film', concurrency: 8 } },
    tokens: [{ name: 'second', secret: secrets.second }],
  })
  const service: TestService = stack.use(await startService({ yaml, members: providers, world: { clock } }))
  const get = (tenant: Tenant, path: string) =>
    service.fetch(path, { headers: { authorization: `Bearer ${secrets[tenant]}`, connection: 'close' } })
  const resources = stack.move()
  return {
    upstream,
    clock,
    release: gate.release,
    holdAnswer: () => gate.hold(/^POST /),
    async submit(tenant, prompt) {
      const headers = { authorization: `Bearer ${secrets[tenant]}`, connection: 'close' }
      const response = await service.submit({ model: 'film', prompt, seconds, size: '832x480' }, headers)
      assert.equal(response.status, 200, await response.clone().text())
      return ((await response.json()) as Video).id
    },
    video: async (tenant, id) => (await (await get(tenant, `/v1/videos/${id}`)).json()) as Video,
    async remove(tenant, id) {
      const headers = { authorization: `Bearer ${secrets[tenant]}`, connection: 'close' }
      assert.equal((await service.fetch(`/v1/videos/${id}`, { method: 'DELETE', headers })).status, 200)
      const look = () => service.operator(`/tasks/${id}`)
      await until('its row is gone', () =>
        look().then(
          () => false,
          () => true,
        ),
      )
    },
    show: (id) => service.operator<Shown>(`/tasks/${id}`),
    async markOf(tenant, id) {
      const content = await get(tenant, `/v1/videos/${id}/content`)
      assert.equal(content.status, 200)
      return markOf(Buffer.from(await content.arrayBuffer()))
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const finds = ({ upstream }: World) => upstream.ledger().arrivals.filter(({ ask }) => ask === 'find').length
const hasEnded = ({ status }: Video) => status === 'completed' || status === 'failed'

/** How the task ended, and with whose video; or that it is held after another lookup. */
async function outcomeOf(world: World, tenant: Tenant, id: string): Promise<{ ended: string; mark?: Mark }> {
  const before = finds(world)
  const video = await until(`${id} ends or is held`, async () => {
    const seen = await world.video(tenant, id)
    if (hasEnded(seen)) return seen
    const { state, due_at: due } = await world.show(id)
    // The next lookup is a minute away.
    const isLeft = state === 'held' && finds(world) > before && Date.parse(due ?? '') > world.clock.now() + 10_000
    return isLeft && { ...seen, status: 'held' }
  })
  if (video.status !== 'completed') return { ended: video.error?.code ?? video.status }
  const mark = await world.markOf(tenant, id)
  return { ended: `completed with the video of '${mark?.prompt}'`, ...(mark && { mark }) }
}

/** Runs both, up to the moment when the response of the second is held back and the first was looked up. */
async function tell(world: World, prompt: Record<Tenant, string>): Promise<Record<Tenant, string>> {
  world.upstream.setFaults({ next: ['submit-503-before-accept'], speed: 0 })
  const first = await world.submit('first', prompt.first)
  // Its response must have passed the gate, which would otherwise hold it instead of the second one.
  await until('the first has its answer', async () =>
    (await world.show(first)).timeline.some(({ name }) => /^(outcome unknown|attempt refused)/.test(name)),
  )
  const held = world.holdAnswer()
  const second = await world.submit('second', prompt.second)
  await held
  const before = finds(world)
  world.clock.jump(5_000)
  // Or it was sent again, if the response was a refusal.
  await until('the first is looked for', async () => {
    const submits = world.upstream.ledger().arrivals.filter(({ ask }) => ask === 'submit')
    return hasEnded(await world.video('first', first)) || finds(world) > before + 1 || submits.length > 2
  })
  world.release()
  return { first, second }
}

describe('a tenant whose submit failed never gets the video of another', { concurrency: true }, () => {
  // SGLang says 4 seconds of both.
  for (const [dialect, seconds] of [
    ['sglang', '4'],
    ['sglang', '5'],
    ['fastvideo', '5'],
    ['vllm-omni', '5'],
  ] as const)
    it(`on an engine that lists as ${dialect} does, for ${seconds} seconds`, async () => {
      await using world = await openWorld(dialect, seconds)
      const ids = await tell(world, prompts)
      const { ended: second } = await outcomeOf(world, 'second', ids.second)
      world.clock.jump(settleMs)
      const { ended: first } = await outcomeOf(world, 'first', ids.first)
      const own = (tenant: Tenant) => `completed with the video of '${prompts[tenant]}'`
      // It may be held: if the list is ambiguous, the operator decides.
      const expected = { first: first === 'held' ? 'held' : own('first'), second: own('second') }
      assert.deepEqual({ first, second }, expected)
      const accepted = world.upstream.ledger().accepts.map(({ prompt }) => prompt)
      assert.deepEqual(accepted, first === 'held' ? [prompts.second] : [prompts.second, prompts.first])
    })

  it('though both asked for the same, on an engine that lists as vllm-omni does', async () => {
    await using world = await openWorld('vllm-omni', '5')
    const same = prompts.first
    const ids = await tell(world, { first: same, second: same })
    const second = await outcomeOf(world, 'second', ids.second)
    world.clock.jump(settleMs)
    const first = await outcomeOf(world, 'first', ids.first)
    // The engine accepted the job of the second tenant first.
    const accepts = world.upstream.ledger().accepts.map(({ id }) => id)
    assert.deepEqual([second.mark?.id, first.mark?.id], [accepts[0], accepts[1]])
    assert.ok(first.mark || first.ended === 'held', first.ended)
  })

  it('though the other deleted it, and the engine still lists it', async () => {
    await using world = await openWorld('vllm-omni', '5')
    const same = prompts.first
    const ids = await tell(world, { first: same, second: same })
    const second = await outcomeOf(world, 'second', ids.second)
    assert.ok(second.mark)
    await world.remove('second', ids.second)
    world.clock.jump(settleMs)
    const first = await outcomeOf(world, 'first', ids.first)
    assert.notEqual(first.mark?.id, second.mark.id)
  })
})
