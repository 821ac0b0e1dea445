import assert from 'node:assert/strict'
import { simulated } from '../simulators/provider.ts'
import { tinyFilm } from '../simulators/upstream/tiny-film.ts'
import { type Mode, markOf, startUpstream, type Upstream, withoutMark } from '../simulators/upstream.ts'
import type { World } from '../src/main.ts'
import { jumpingClock, startService, type TestService, until } from './service.ts'

/*
 * A whole service in front of the simulated upstream with its faults: real sockets on both sides, a real database, and
 * videos that are really decoded.
 */

export interface GatewayOptions {
  /** How the upstream lets an unknown submit be recovered. It decides which adapter is used. */
  mode?: Mode
  /** As in filmgate.yaml. Provider, address and key have defaults. */
  accounts: Record<string, object>
  models?: Record<string, object>
  tokens?: readonly object[]
  members?: World['members']
  outbound?: World['outbound']
  random?: World['random']
  env?: Record<string, string>
  alarmLookMs?: number
}

export interface Video {
  id: string
  status: string
  progress: number
  error?: { code: string; message: string } | null
}

/** As the operator sees it. */
export interface Shown {
  state: string
  account: string | null
  tries: number
  due_at: string | null
  attempts: {
    number: number
    account: string
    state: string
    key_version: string
    settled_at: string | null
    problem: { code: string; message: string } | null
    operation: unknown
  }[]
  timeline: { at: string; name: string; detail: unknown }[]
}

export interface Health {
  state: string
  reason: string | null
  paused_until: string | null
  failures: number
}

/** The timeouts of production, about a hundred times shorter. A download of 1 byte per 100 ms is too slow for the pace. */
export const impatient = {
  connectMs: 1_000,
  headersMs: 1_000,
  bodyIdleMs: 1_000,
  totalMs: 2_000,
  downloadHeadersMs: 1_000,
  downloadIdleMs: 1_000,
  downloadPaceMs: 1_000,
  downloadPaceBytes: 100,
  downloadCloseMs: 50,
}

/** Idle connections would delay the end of the service. */
const closing = { connection: 'close' }

export class Gateway implements AsyncDisposable {
  readonly upstream: Upstream
  readonly service: TestService
  readonly clock: ReturnType<typeof jumpingClock>
  readonly #yaml: (options: Pick<GatewayOptions, 'accounts' | 'models'>) => string

  private constructor(
    upstream: Upstream,
    service: TestService,
    clock: Gateway['clock'],
    yaml: (options: Pick<GatewayOptions, 'accounts' | 'models'>) => string,
  ) {
    this.upstream = upstream
    this.service = service
    this.clock = clock
    this.#yaml = yaml
  }

  static async open(options: GatewayOptions): Promise<Gateway> {
    const { mode = 'none', tokens = [], members = simulated, outbound, random, env = {}, alarmLookMs } = options
    await using stack = new AsyncDisposableStack()
    const upstream = stack.use(await startUpstream({ mode, dripMs: 100 }))
    const common = { provider: `sim-${mode}`, base_url: upstream.url, key: 'the upstream key' }
    const yaml = ({ accounts, models = {} }: Pick<GatewayOptions, 'accounts' | 'models'>) => {
      const filled = Object.entries(accounts).map(([name, account]) => [name, { ...common, ...account }])
      return JSON.stringify({ accounts: Object.fromEntries(filled), models, tokens })
    }
    const clock = jumpingClock()
    const patience = { upstreamDeadlines: impatient, ...outbound }
    const changed = { ...(random && { random }), ...(alarmLookMs !== undefined && { alarmLookMs }) }
    const world = { clock, outbound: patience, maxVideoBytes: 2 ** 20, ...changed }
    const service = await startService({ yaml: yaml(options), members, world, env })
    stack.move()
    return new Gateway(upstream, service, clock, yaml)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]()
    await this.upstream[Symbol.asyncDispose]()
    // No behaviour of an upstream may cause one of these.
    const unexpected = /"event":"(action crashed|claim failed|a decision could not be recorded)/
    assert.deepEqual(
      this.service.log.filter((line) => unexpected.test(line)),
      [],
    )
  }

  #get(path: string): Promise<Response> {
    return this.service.fetch(path, { headers: closing })
  }

  restart(options: Pick<GatewayOptions, 'accounts' | 'models'>): Promise<void> {
    return this.service.restart(this.#yaml(options))
  }

  /** Creates a video. The faults of the upstream find it by its prompt. */
  async submit(model: string, prompt = model, secret?: string): Promise<string> {
    const headers = { ...closing, ...(secret !== undefined && { authorization: `Bearer ${secret}` }) }
    const response = await this.service.submit({ model, prompt, seconds: '4' }, headers)
    assert.equal(response.status, 200, await response.clone().text())
    return ((await response.json()) as Video).id
  }

  async video(id: string): Promise<Video> {
    const response = await this.#get(`/v1/videos/${id}`)
    assert.equal(response.status, 200, 'a poll is always answered')
    return (await response.json()) as Video
  }

  show(id: string): Promise<Shown> {
    return this.service.operator<Shown>(`/tasks/${id}`)
  }

  async attempts(id: string): Promise<[account: string, state: string][]> {
    return (await this.show(id)).attempts.map(({ account, state }) => [account, state])
  }

  async isNoted(id: string, event: string): Promise<boolean> {
    return (await this.show(id)).timeline.some(({ name }) => name.startsWith(event))
  }

  /** Polls the task until its end, and checks each response on the way. */
  async follow(id: string): Promise<Video> {
    let [progress, rank] = [0, 0]
    const look = async () => {
      const video = await this.video(id)
      const now = ['queued', 'in_progress', 'completed', 'failed'].indexOf(video.status)
      assert.ok(now >= rank, `'${video.status}' can not follow status number ${rank}`)
      const most = video.status === 'completed' ? 100 : 99
      assert.ok(Number.isInteger(video.progress) && video.progress >= progress && video.progress <= most)
      assert.equal(Boolean(video.error), video.status === 'failed')
      ;[progress, rank] = [video.progress, now]
      return rank >= 2 && video
    }
    // Not more often: many tasks are followed at once.
    return until(`${id} ends`, look, 200)
  }

  /** The task completes with exactly the bytes of the upstream, and was accepted once. */
  async makes(id: string, prompt: string): Promise<void> {
    const { status, error } = await this.follow(id)
    assert.equal(status, 'completed', `${prompt}: ${JSON.stringify(error)}`)
    const content = await this.#get(`/v1/videos/${id}/content`)
    const film = Buffer.from(await content.arrayBuffer())
    assert.equal(markOf(film)?.prompt, prompt, 'the video of another task was served')
    assert.ok(withoutMark(film).equals(tinyFilm), `${prompt}: other bytes were served`)
    assert.equal(this.accepts(prompt), 1, `${prompt}: it was accepted that often`)
  }

  async fails(id: string, code: string, what = code): Promise<void> {
    const { error } = await this.follow(id)
    assert.equal(error?.code, code, what)
    assert.ok((error?.message.length ?? 0) > 10, what)
    assert.equal((await this.#get(`/v1/videos/${id}/content`)).status, 404, `${what}: it was served`)
  }

  accepts(prompt: string): number {
    return this.upstream.ledger().accepts.filter((accept) => accept.prompt === prompt).length
  }

  async health(name: string): Promise<Health> {
    const { data } = await this.service.operator<{ data: { name: string; health: Health }[] }>('/accounts')
    const found = data.find((account) => account.name === name)
    assert.ok(found, `there is no account ${name}`)
    return found.health
  }
}
