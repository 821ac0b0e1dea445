import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { Problem } from '../src/core/problem.ts'
import type { Member } from '../src/providers/index.ts'
import type { Provider } from '../src/providers/provider.ts'
import { Gateway, impatient } from './gateway.ts'
import { operatorToken, until } from './service.ts'

/* No video is paid for twice, or given to another task, even if the adapter or the upstream misbehaves. */

function memberLike(name: string, change: (provider: Provider) => Partial<Provider>): Member {
  const base = simulated['sim-none']
  assert.ok(base)
  return {
    ...base,
    cards: base.cards.map((card) => ({ ...card, id: name, provider: name })),
    async create(setting) {
      const provider = await base.create(setting)
      return { ...provider, name, ...change(provider) }
    },
  }
}

const film = { film: { account: 'main' } }

/** A gateway whose only account uses this provider. */
function openWith(name: string, change: (provider: Provider) => Partial<Provider>): Promise<Gateway> {
  const members = { ...simulated, [name]: memberLike(name, change) }
  return Gateway.open({ members, accounts: { main: { provider: name } }, models: film })
}

describe('a submit', { concurrency: 3 }, () => {
  it('of several requests, of which one can not connect after the billable one, is sent once', async () => {
    await using way = await openWith('sim-two', ({ submit }) => ({
      async submit(request, call) {
        await submit(request, call)
        throw new Problem('provider_unreachable', 'The second request found nobody.', { retryable: true })
      },
    }))
    const id = await way.submit('film')
    await until('it is unknown', () => way.isNoted(id, 'outcome unknown'))
    way.clock.jump(31 * 60_000)
    await way.fails(id, 'submission_unknown')
    assert.deepEqual([way.accepts('film'), await way.attempts(id)], [1, [['main', 'abandoned']]])
  })

  it('whose first request fails before the billable one is not held, and completes once that request works', async () => {
    let uploads = 0
    await using way = await openWith('sim-upload', ({ submit }) => ({
      async submit(request, call) {
        uploads += 1
        if (uploads === 1) throw new Error('the upload got a 502')
        return submit(request, call)
      },
    }))
    const id = await way.submit('film')
    await way.makes(id, 'film')
    assert.deepEqual(
      (await way.attempts(id)).map(([, state]) => state),
      ['accepted'],
    )
    assert.ok(await way.isNoted(id, 'attempt not sent'))
  })

  it('of unknown outcome does not adopt the running job of another task with the same prompt', async () => {
    const patient = { ...impatient, headersMs: 30_000, bodyIdleMs: 30_000, totalMs: 60_000 }
    await using way = await Gateway.open({
      mode: 'list',
      accounts: { main: { concurrency: 9 } },
      models: film,
      outbound: { upstreamDeadlines: patient },
    })
    const faults = ['submit-reset-before-accept', 'submit-200-drip-after-accept']
    way.upstream.setFaults({ next: faults.map((fault) => ({ fault, prompt: 'x' })) })
    const lost = await way.submit('film', 'x')
    await until('it is unknown', () => way.isNoted(lost, 'outcome unknown'))
    const slow = await way.submit('film', 'x')
    await way.makes(slow, 'x')
    assert.equal((await way.video(lost)).status, 'queued')
    way.clock.jump(31 * 60_000)
    await way.fails(lost, 'submission_unknown')
  })

  it('without a response is sent twice, and no more, to an account that resubmits', async () => {
    await using way = await Gateway.open({ accounts: { main: { on_unknown: 'resubmit' } }, models: film })
    way.upstream.setFaults({ rates: { 'submit-500-after-accept': 1 } })
    const id = await way.submit('film')
    await way.fails(id, 'submission_unknown')
    assert.equal(way.accepts('film'), 2)
    assert.deepEqual(await way.attempts(id), [
      ['main', 'abandoned'],
      ['main', 'abandoned'],
    ])
  })
})

it('a submit of unknown outcome is not sent again past the deadline of its task', async () => {
  const models = { film: { account: 'main', deadlines: { total: '5m' } } }
  for (const mode of ['key', 'lookup'] as const) {
    await using way = await Gateway.open({ mode, accounts: { main: {} }, models })
    way.upstream.setFaults({ rates: { 'submit-500-before-accept': 1 } })
    const id = await way.submit('film')
    await until('it is unknown', () => way.isNoted(id, 'outcome unknown'))
    way.clock.jump(5 * 60_000)
    way.upstream.setFaults({ rates: {} })
    await way.fails(id, 'submission_unknown')
    assert.deepEqual([way.accepts('film'), await way.attempts(id)], [0, [['main', 'abandoned']]], mode)
  }
})

it('one operation that is adopted for three held tasks at once is one’s, and the others are still held', async () => {
  await using way = await Gateway.open({ accounts: { main: { concurrency: 3 } }, models: film })
  way.upstream.setFaults({ rates: { 'submit-500-after-accept': 1 } })
  const ids = await Promise.all(['a', 'b', 'c'].map((prompt) => way.submit('film', prompt)))
  await until('nobody looks at them', async () => {
    const shown = await Promise.all(ids.map((id) => way.show(id)))
    return shown.every(({ state, due_at: due }) => state === 'held' && Date.parse(due ?? '') > Date.now() + 30_000)
  })
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json', connection: 'close' }
  const adopt = (id: string, operation: unknown) => {
    const body = JSON.stringify({ operation })
    return way.service.fetch(`/operator/v1/tasks/${id}/adopt`, { method: 'POST', headers, body })
  }
  for (const odd of [{}, ' ', '..', 'a/b']) {
    const answer = await adopt(ids[0] ?? '', odd)
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /Operations of account 'main' look like \\"job_/)
  }
  const operation = way.upstream.ledger().accepts[0]?.id
  const answers = await Promise.all(ids.map((id) => adopt(id, operation)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400])
  for (const [at, { status }] of answers.entries()) {
    const id = ids[at] ?? ''
    if (status === 200) assert.equal((await way.follow(id)).status, 'completed')
    else assert.deepEqual([(await way.show(id)).state, await way.attempts(id)], ['held', [['main', 'open']]])
  }
})

it('a poll that throws, whatever it throws, does not end what is paid for', async () => {
  const thrown = [new Problem('provider_unavailable', 'The key was refused.'), new Problem('generation_failed', 'No.')]
  await using way = await openWith('sim-thrower', ({ poll }) => ({
    async poll(operation, call) {
      const next = thrown.shift()
      if (next) throw next
      return poll(operation, call)
    },
  }))
  await way.makes(await way.submit('film'), 'film')
  assert.equal(thrown.length, 0)
})

it('an upstream that can not be asked after a submit is named in the timeline, once', async () => {
  const members = {
    'sim-mute': memberLike('sim-mute', () => ({
      recovery: 'lookup',
      find: () => Promise.reject(new Error('404 from /jobs')),
    })),
  }
  await using way = await Gateway.open({ members, accounts: { main: { provider: 'sim-mute' } }, models: film })
  way.upstream.setFaults({ next: ['submit-500-after-accept'] })
  const id = await way.submit('film')
  await until('it was asked after', () => way.isNoted(id, 'lookup failed'))
  way.clock.jump(31 * 60_000)
  await way.fails(id, 'submission_unknown')
  const vain = (await way.show(id)).timeline.filter(({ name }) => name === 'lookup failed')
  assert.deepEqual([vain.length, /404 from/.test(JSON.stringify(vain))], [1, true])
})
