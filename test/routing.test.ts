import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { startUpstream } from '../simulators/upstream.ts'
import { Problem } from '../src/core/problem.ts'
import type { Member } from '../src/providers/index.ts'
import type { Provider } from '../src/providers/provider.ts'
import { seeded } from './faults/seeded.ts'
import { Gateway, impatient, type Shown } from './gateway.ts'
import { operatorToken, until } from './service.ts'

/* Which account gets a task and when, and what happens if the account, the model or the client is gone. */

const together = <T, R>(items: readonly T[], each: (item: T) => Promise<R>) => Promise.all(items.map(each))
const numbered = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name} ${at}`)

/** The simulated provider without recovery, with some methods replaced. */
function memberLike(name: string, change: (provider: Provider) => Partial<Provider>, card: object = {}): Member {
  const base = simulated['sim-none']
  assert.ok(base)
  return {
    ...base,
    cards: base.cards.map((one) => ({ ...one, ...card, id: name, provider: name })),
    async create(setting) {
      const provider = await base.create(setting)
      return { ...provider, name, ...change(provider) }
    },
  }
}

const unbilled = memberLike('sim-unbilled', () => ({}), { failuresBilled: false })
const strict = memberLike(
  'sim-strict',
  ({ poll }) => ({
    async poll(operation, call) {
      const answer = await poll(operation, call)
      if (answer.status !== 'failed') return answer
      return { status: 'failed', problem: new Problem('content_policy', 'This prompt is not allowed.') }
    },
  }),
  { failuresBilled: false },
)

const two = { film: { routes: [{ account: 'first' }, { account: 'second', priority: 1 }] } }

describe('routes', { concurrency: 4 }, () => {
  it('go by priority, and among equals by weight', async (test) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32)
    test.diagnostic(`SEED=${seed}`)
    const chance = seeded(seed)
    const routes = [
      { account: 'first', weight: 3 },
      { account: 'second', weight: 1 },
    ]
    await using way = await Gateway.open({
      accounts: { first: { concurrency: 100 }, second: { concurrency: 100 } },
      models: { ...two, mixed: { routes } },
      random: (count) => Uint8Array.from({ length: count }, () => chance() * 256),
    })
    const accountOf = (id: string) => until(`${id} is taken`, async () => (await way.attempts(id))[0]?.[0])
    for (const prompt of numbered(5, 'film')) assert.equal(await accountOf(await way.submit('film', prompt)), 'first')
    const counts = { first: 0, second: 0 }
    for (const prompt of numbered(40, 'mixed')) {
      counts[(await accountOf(await way.submit('mixed', prompt))) as keyof typeof counts] += 1
    }
    // 30 are to be expected; this is four standard deviations on either side.
    assert.ok(counts.first >= 19 && counts.second >= 1, JSON.stringify(counts))
  })

  it('are changed only after a submit that surely was not accepted, under the same id', async () => {
    await using way = await Gateway.open({ mode: 'list', accounts: { first: {}, second: {} }, models: two })
    const [busy, unknown] = ['submit-429-before-accept', 'submit-500-after-accept']
    way.upstream.setFaults({ next: [busy, unknown].map((fault) => ({ fault, prompt: fault })) })
    const refused = await way.submit('film', busy)
    await way.makes(refused, busy)
    assert.deepEqual(await way.attempts(refused), [
      ['first', 'refused'],
      ['second', 'accepted'],
    ])
    await until('the first is ready again', async () => (await way.health('first')).state !== 'paused')
    const kept = await way.submit('film', unknown)
    await way.makes(kept, unknown)
    assert.deepEqual(await way.attempts(kept), [['first', 'accepted']])
  })

  it('that are all paused are waited for, the first that is ready again gets the task', async () => {
    await using way = await Gateway.open({
      accounts: { first: {}, second: {} },
      models: { ...two, alone: { account: 'second' } },
    })
    const [busy, refused] = ['submit-429-seconds-before-accept', 'submit-401-before-accept']
    way.upstream.setFaults({ next: [busy, refused].map((fault) => ({ fault, prompt: fault })) })
    const waiting = await way.submit('alone', refused)
    await until('the second is paused', async () => (await way.health('second')).reason === 'credentials')
    await way.makes(await way.submit('film', busy), busy)
    assert.equal((await way.video(waiting)).status, 'queued')
  })

  it('go on after a failure that costs nothing, each once, but not after one that is billed or the fault of the prompt', async () => {
    const members = { ...simulated, 'sim-unbilled': unbilled, 'sim-strict': strict }
    const routesOf = (kind: string) => ({ routes: [{ account: `${kind}-1` }, { account: `${kind}-2`, priority: 1 }] })
    const kinds = ['none', 'unbilled', 'strict']
    await using way = await Gateway.open({
      members,
      accounts: Object.fromEntries(
        kinds.flatMap((kind) => [1, 2].map((number) => [`${kind}-${number}`, { provider: `sim-${kind}` }])),
      ),
      models: Object.fromEntries(kinds.map((kind) => [kind, routesOf(kind)])),
    })
    const fault = 'poll-failed'
    way.upstream.setFaults({
      next: ['none', 'unbilled', 'strict', 'both', 'both'].map((prompt) => ({ fault, prompt })),
    })
    const saved = await way.submit('unbilled')
    assert.equal((await way.follow(saved)).status, 'completed')
    assert.deepEqual(
      (await way.show(saved)).attempts.map(({ account, number }) => [account, number]),
      [
        ['unbilled-1', 1],
        ['unbilled-2', 2],
      ],
    )
    await way.fails(await way.submit('unbilled', 'both'), 'generation_failed')
    assert.equal(way.accepts('both'), 2, 'each route was tried once')
    await way.fails(await way.submit('none'), 'generation_failed')
    await way.fails(await way.submit('strict'), 'content_policy')
    assert.deepEqual([way.accepts('none'), way.accepts('strict')], [1, 1])
  })

  it('make no more attempts than there are, if each fails while the others are busy', async () => {
    await using busy = await startUpstream({ mode: 'none', rates: { 'submit-429-seconds-before-accept': 1 } })
    const provider = 'sim-unbilled'
    await using way = await Gateway.open({
      members: { ...simulated, [provider]: unbilled },
      accounts: { first: { provider }, second: { provider, base_url: busy.url } },
      models: two,
    })
    way.upstream.setFaults({ rates: { 'poll-failed': 1 } })
    const id = await way.submit('film', 'loop')
    await way.fails(id, 'generation_failed')
    assert.equal(way.accepts('loop'), 2)
    const accepted = (await way.attempts(id)).filter(([, state]) => state === 'accepted')
    assert.deepEqual(
      accepted.map(([account]) => account),
      ['first', 'first'],
    )
  })

  it('lead back to an account that did not take the task, when it is ready again and the others are full', async () => {
    await using way = await Gateway.open({
      accounts: { first: {}, second: { concurrency: 1 } },
      models: { ...two, alone: { account: 'second' } },
    })
    const [fault, prompt] = ['submit-429-seconds-before-accept', 'bounced']
    way.upstream.setFaults({ speed: 600_000, next: [{ fault, prompt }] })
    const plug = await way.submit('alone', 'plug')
    await until('the second is full', async () => (await way.show(plug)).state === 'running')
    const id = await way.submit('film', prompt)
    await until('it is taken', async () => (await way.show(id)).state === 'running')
    assert.deepEqual(await way.attempts(id), [
      ['first', 'refused'],
      ['first', 'accepted'],
    ])
    way.upstream.setFaults({ speed: 0 })
    await way.makes(id, prompt)
  })

  it('leave out an account that fails again and again', async () => {
    await using way = await Gateway.open({
      accounts: { first: { concurrency: 10 }, second: {} },
      models: { ...two, alone: { account: 'first' } },
    })
    way.upstream.setFaults({
      next: numbered(5, 'bad').map((prompt) => ({ fault: 'submit-502-before-accept', prompt })),
    })
    for (const prompt of numbered(5, 'bad')) await way.submit('alone', prompt)
    const health = await until('it is paused', async () => {
      const now = await way.health('first')
      return now.state === 'paused' && now
    })
    assert.deepEqual([health.reason, health.failures], ['failing', 5])
    const id = await way.submit('film')
    await way.makes(id, 'film')
    assert.deepEqual(await way.attempts(id), [['second', 'accepted']])
  })
})

describe('X1: a configuration that changes while a task runs', { concurrency: 4 }, () => {
  const [accounts, models] = [{ main: {}, other: {} }, { film: { account: 'main' } }]
  const started = async (way: Gateway) => {
    way.upstream.setFaults({ speed: 600_000 })
    const id = await way.submit('film')
    await until('it runs', async () => (await way.video(id)).status === 'in_progress')
    return id
  }

  it('keeps a task whose model is gone, and whose key is another one, with the account that has it', async () => {
    await using way = await Gateway.open({ accounts, models })
    const id = await started(way)
    const before = (await way.show(id)).attempts
    await way.restart({ accounts: { main: { key: 'another upstream key' }, other: {} } })
    assert.equal((await way.service.submit({ model: 'film', prompt: 'x' })).status, 404)
    way.upstream.setFaults({ speed: 0 })
    await way.makes(id, 'film')
    assert.deepEqual((await way.show(id)).attempts, before, 'the attempt is as it was made')
    await way.submit('sim-none', 'new')
    await until('a new one is sent', () => way.accepts('new') === 1)
    const bearers = way.upstream.ledger().accepts.map(({ bearer }) => bearer)
    assert.ok(bearers[0] === 'the upstream key' && bearers.length === 2, bearers.join())
  })

  it('fails a task whose outcome is unknown after half an hour, though its account is gone', async () => {
    await using way = await Gateway.open({ accounts, models })
    way.upstream.setFaults({ next: ['submit-500-after-accept'] })
    const id = await way.submit('film')
    await until('it is unknown', () => way.isNoted(id, 'outcome unknown'))
    await way.restart({ accounts: { other: {} } })
    await until('its account is missed', () => way.isNoted(id, 'submit met a problem'))
    assert.equal((await way.video(id)).status, 'queued')
    way.clock.jump(31 * 60_000)
    await way.fails(id, 'submission_unknown')
    assert.deepEqual(await way.attempts(id), [['main', 'abandoned']])
  })

  it('sends nothing again to an account whose address is another one, and goes on when it is back', async () => {
    for (const mode of ['key', 'lookup', 'list'] as const) {
      await using other = await startUpstream({ mode })
      await using way = await Gateway.open({ mode, accounts, models })
      way.upstream.setFaults({ rates: { 'submit-500-after-accept': 1, 'find-500': 1 } })
      const id = await way.submit('film')
      await until('it is unknown', () => way.isNoted(id, 'outcome unknown'))
      await way.restart({ accounts: { main: { base_url: other.url }, other: {} }, models })
      await until('its address is missed', () => way.isNoted(id, 'submit met a problem'))
      way.clock.jump(5 * 60_000)
      const looked = (await way.show(id)).tries
      await until('it is looked at again', async () => (await way.show(id)).tries > looked)
      assert.match(JSON.stringify((await way.show(id)).timeline), /account 'main' had another address/)
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
      const adoption = { method: 'POST', headers, body: '{"operation":"job_1"}' }
      assert.equal((await way.service.fetch(`/operator/v1/tasks/${id}/adopt`, adoption)).status, 400, mode)
      assert.deepEqual([(await way.show(id)).state, other.ledger().requests], ['held', 0], mode)
      way.upstream.setFaults({ rates: {} })
      await way.restart({ accounts: { main: { base_url: `${way.upstream.url}/` }, other: {} }, models })
      await way.makes(id, 'film')
    }
  })

  it('does not ask another address how a task does, nor stop there what has its name', async () => {
    await using other = await startUpstream({ mode: 'none' })
    await using way = await Gateway.open({ accounts: { main: { concurrency: 2 } }, models })
    const [id, deleted] = [await started(way), await started(way)]
    const moved = { accounts: { main: { base_url: other.url } }, models }
    await way.restart(moved)
    await until('its address is missed', () => way.isNoted(id, 'poll met a problem'))
    assert.equal((await way.service.fetch(`/v1/videos/${deleted}`, { method: 'DELETE' })).status, 200)
    way.clock.jump(3 * 60_000)
    const looked = (await way.show(id)).tries
    await until('it is looked at again', async () => (await way.show(id)).tries > looked)
    assert.equal((await way.video(id)).status, 'in_progress')
    await until('the deleted one is an orphan', async () => {
      const { data } = await way.service.operator<{ data: { task: string }[] }>('/attempts?state=orphan')
      return data.some(({ task }) => task === deleted)
    })
    assert.equal(other.ledger().requests, 0)
    way.upstream.setFaults({ speed: 0 })
    await way.restart({ accounts: { main: { key: 'another upstream key' } }, models })
    assert.equal((await way.follow(id)).status, 'completed')
  })

  it('lets a task wait for an account that is gone, and go on when it is back', async () => {
    await using way = await Gateway.open({ accounts, models })
    const id = await started(way)
    await way.restart({ accounts: { other: {} } })
    await until('it is missed', () => way.isNoted(id, 'poll met a problem'))
    assert.deepEqual((await way.service.operator<{ missing: string[] }>('/accounts')).missing, ['main'])
    assert.equal((await way.video(id)).status, 'in_progress')
    way.upstream.setFaults({ speed: 0 })
    await way.restart({ accounts, models })
    await way.makes(id, 'film')
  })
})

describe('slots', { concurrency: 4 }, () => {
  /** The highest number of jobs that ran upstream at once. */
  function mostAtOnce({ upstream }: Gateway, speed: number, prefix: string): number {
    const times = upstream.ledger().accepts.flatMap(({ prompt, at }) => (prompt.startsWith(prefix) ? [at] : []))
    return Math.max(...times.map((end) => times.filter((at) => at > end - speed && at <= end).length))
  }

  it('of an account, a model and a token are never exceeded, and all are used', async () => {
    const speed = 1_000
    await using way = await Gateway.open({
      accounts: { few: { concurrency: 3 }, many: { concurrency: 50 } },
      models: { few: { account: 'few' }, many: { account: 'many' }, pair: { account: 'many', concurrency: 2 } },
      tokens: [{ name: 'narrow', secret: 'the narrow one', concurrency: 4 }],
    })
    way.upstream.setFaults({ speed })
    const prompts = ['few', 'pair', 'many'].flatMap((model) => numbered(12, model).map((prompt) => ({ model, prompt })))
    await together(prompts, ({ model, prompt }) =>
      way.submit(model, prompt, model === 'many' ? 'the narrow one' : undefined),
    )
    await until('all were taken', () => way.upstream.ledger().accepts.length === prompts.length)
    assert.deepEqual(
      ['few', 'pair', 'many'].map((prefix) => mostAtOnce(way, speed, prefix)),
      [3, 2, 4],
    )
  })

  it('are shared fairly between two tokens, whoever came first', async () => {
    const secrets = ['the secret of one', 'the secret of two']
    await using way = await Gateway.open({
      accounts: { main: { concurrency: 5 } },
      models: { film: { account: 'main' } },
      tokens: secrets.map((secret, at) => ({ name: `token ${at}`, secret })),
    })
    const fault = 'submit-429-absurd-before-accept'
    way.upstream.setFaults({ next: [{ fault, prompt: 'plug' }], speed: 20 })
    await way.submit('film', 'plug')
    await until('nothing gets through', async () => (await way.health('main')).state === 'paused')
    for (const [at, secret] of secrets.entries())
      await together(numbered(40, `${at}`), (prompt) => way.submit('film', prompt, secret))
    await way.service.operator('/accounts/main/resume', 'POST')
    await until('all were taken', () => way.upstream.ledger().accepts.length === 81)
    let ahead = 0
    for (const { prompt } of way.upstream.ledger().accepts.filter(({ prompt }) => prompt !== 'plug')) {
      ahead += prompt.startsWith('0') ? 1 : -1
      // 5 % of 80, either way.
      assert.ok(Math.abs(ahead) <= 4, `one is ${ahead} ahead of the other`)
    }
  })
})

describe('deadlines', { concurrency: 4 }, () => {
  it('end what was not started, and what was not finished, with deadline_exceeded', async () => {
    await using way = await Gateway.open({
      accounts: { paused: {}, slow: {}, hung: {} },
      models: {
        late: { account: 'paused', deadlines: { start: '1s' } },
        long: { account: 'slow', deadlines: { total: '1s' } },
        hung: { account: 'hung', deadlines: { total: '1s' } },
      },
    })
    const hangs = Array.from({ length: 9 }, () => ({ fault: 'poll-hang', prompt: 'hung' }))
    way.upstream.setFaults({ speed: 600_000, next: [{ fault: 'submit-401-before-accept', prompt: 'late' }, ...hangs] })
    const ids = await together(['late', 'long', 'hung'], (model) => way.submit(model))
    await together(ids, (id) => way.fails(id, 'deadline_exceeded'))
    assert.deepEqual(
      way.upstream
        .ledger()
        .accepts.map(({ prompt }) => prompt)
        .sort(),
      ['hung', 'long'],
    )
    way.upstream.setFaults({ next: [] })
    await until('both are cancelled upstream', async () => {
      const jobs = await together(way.upstream.ledger().accepts, ({ id }) => jobOf(way, id))
      return jobs.every(({ error }) => error === 'cancelled')
    })
  })
})

async function jobOf({ upstream }: Gateway, id: string): Promise<{ status: string; error?: string }> {
  const headers = { authorization: 'Bearer anybody', connection: 'close' }
  return (await fetch(`${upstream.url}/jobs/${id}`, { headers })).json() as Promise<{ status: string; error?: string }>
}

describe('a task that its owner deletes', { concurrency: 4 }, () => {
  const remove = async ({ service }: Gateway, id: string) => {
    assert.equal((await service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
    assert.equal((await service.fetch(`/v1/videos/${id}`)).status, 404)
  }
  const isGone = ({ service }: Gateway, id: string) =>
    service.operator<Shown>(`/tasks/${id}`).then(
      () => false,
      () => true,
    )

  it('ends at once if it was queued, and is cancelled upstream if it ran', async () => {
    await using way = await Gateway.open({
      accounts: { main: { concurrency: 1 } },
      models: { film: { account: 'main' } },
    })
    way.upstream.setFaults({ speed: 600_000 })
    const running = await way.submit('film', 'running')
    await until('it runs', async () => (await way.video(running)).status === 'in_progress')
    const queued = await way.submit('film', 'queued')
    await remove(way, queued)
    await until('its row is gone', () => isGone(way, queued))
    await remove(way, running)
    await until('its row is gone, too', () => isGone(way, running))
    const [job, ...others] = way.upstream.ledger().accepts
    assert.deepEqual(others, [])
    assert.equal((await jobOf(way, job?.id ?? '')).error, 'cancelled')
    way.upstream.setFaults({ speed: 0 })
    await way.makes(await way.submit('film', 'next'), 'next')
  })

  it('and that can not be cancelled is waited for, and never fetched', async () => {
    const fetched: unknown[] = []
    const polled: string[] = []
    const stubborn = memberLike('sim-stubborn', ({ poll, download }) => ({
      cancel: async () => 'too_late',
      async poll(operation, call) {
        const answer = await poll(operation, call)
        polled.push(answer.status)
        return answer
      },
      download(output, call) {
        fetched.push(output)
        return download(output, call)
      },
    }))
    await using way = await Gateway.open({
      members: { 'sim-stubborn': stubborn },
      accounts: { main: { provider: 'sim-stubborn' } },
      models: { film: { account: 'main' } },
    })
    way.upstream.setFaults({ speed: 600_000 })
    const id = await way.submit('film')
    await until('it runs', async () => (await way.video(id)).status === 'in_progress')
    await remove(way, id)
    const before = polled.length
    await until('it is waited for', () => polled.length > before + 2)
    assert.equal(await isGone(way, id), false)
    way.upstream.setFaults({ speed: 0 })
    await until('its row is gone', () => isGone(way, id))
    assert.deepEqual([polled.at(-1), fetched], ['succeeded', []])
  })
})

describe('Q2: an account that hangs', { concurrency: 4 }, () => {
  const patience = { ...impatient, headersMs: 60_000, totalMs: 60_000 }
  for (const [kind, fault, count] of [
    ['submits', 'submit-hang-before-accept', 100],
    ['polls', 'poll-hang', 300],
  ] as const) {
    it(`in its ${kind} with ${count} tasks delays none of a healthy one's`, async () => {
      await using bad = await startUpstream({ mode: 'none', rates: { [fault]: 1 } })
      await using way = await Gateway.open({
        accounts: { bad: { base_url: bad.url, concurrency: 1_000 }, good: { concurrency: 20 } },
        models: { bad: { account: 'bad' }, good: { account: 'good' } },
        outbound: { upstreamDeadlines: patience },
      })
      const hung = await together(numbered(count, 'bad'), (prompt) => way.submit('bad', prompt))
      await until('it hangs', () => bad.ledger().faults.length >= 60)
      const healthy = await together(numbered(50, 'good'), async (prompt) => ({
        prompt,
        id: await way.submit('good', prompt),
      }))
      await together(healthy, ({ id, prompt }) => way.makes(id, prompt))
      const states = new Set((await together(hung, (id) => way.video(id))).map(({ status }) => status))
      assert.ok(!states.has('completed') && !states.has('failed'), [...states].join())
      // Ends every hanging request: otherwise the end of the service waits for them.
      await bad[Symbol.asyncDispose]()
    })
  }
})
