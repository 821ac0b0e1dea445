import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tinyFilm } from '../../../simulators/upstream/tiny-film.ts'
import {
  downloadFaults,
  type NextFault,
  type Orders,
  pollFaults,
  startUpstream,
  submitFaults,
  type Upstream,
  withoutMark,
} from '../../../simulators/upstream.ts'
import { Problem } from '../../core/problem.ts'
import type { Json } from '../../core/task.ts'
import { type Outbound, openOutbound } from '../../outbound.ts'
import type { Call, Progress, Provider, ProviderRequest } from '../provider.ts'
import { assertNoKey, bytesOf, impatient, type NetworkCase, operationOf } from './case.ts'

export function testNetworkProvider(name: string, { wire, path = '', ...given }: NetworkCase): void {
  describe(`the ${name} provider`, { concurrency: false }, () => {
    let upstream: Upstream
    let outbound: Outbound
    let provider: Provider
    let count = 0
    const next = () => {
      count += 1
      return String(count)
    }
    const [first] = given.requests
    const { without = {}, listsBlindly = false } = given

    before(async () => {
      upstream = await startUpstream({ wire: wire(), speed: 0, dripMs: 200, unknownMs: 100, lateMs: 50, refuseMs: 100 })
      outbound = openOutbound({ allow: ['127.0.0.1'], upstreamDeadlines: impatient })
      provider = await given.member.create({ folder: '', media: undefined as never })
    })
    after(async () => {
      await outbound[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    })

    const callOf = (attemptId = `att_${next().padStart(36, '0')}`, credential = given.key): Call => ({
      ...outbound.upstream(upstream.url + path),
      ...{ signal: new AbortController().signal, attemptId, credential, now: () => Date.now() },
    })
    /** What is not said is as usual: jobs are done at once. */
    const order = (orders: Orders) => upstream.setFaults({ next: [], rates: {}, speed: 0, linkMs: 0, ...orders })
    /** A request that no other test has: faults go by the prompt. */
    const asked = (prompt: string, request = first): ProviderRequest => ({ ...request, prompt })
    const submit = async (request: ProviderRequest, call = callOf()) =>
      operationOf(await provider.submit(request, call))
    const poll = (operation: Json) => provider.poll(operation, callOf())
    const finish = async (operation: Json) => {
      for (let tries = 0; tries < 20; tries += 1) {
        const progress = await poll(operation)
        if (progress.status === 'succeeded') return JSON.parse(JSON.stringify(progress.output)) as Json
        assert.equal(progress.status, 'running')
      }
      return assert.fail('it does not end')
    }
    const film = async (output: Json) => withoutMark(await bytesOf(await provider.download(output, callOf())))
    const shown = <Fault extends { name: string }>(faults: readonly Fault[], pattern: RegExp) =>
      faults.map((fault) => fault.name).filter((fault) => pattern.test(fault) && !(fault in without))
    /** Each with a job of its own, all at once. */
    const each = async (
      faults: readonly string[],
      check: (fault: string, prompt: string) => Promise<void>,
      orders: Orders = {},
    ) => {
      const prompts = faults.map((fault) => `${name} ${fault} ${next()}`)
      order({ ...orders, next: faults.map((fault, at): NextFault => ({ fault, prompt: prompts[at] ?? '' })) })
      await Promise.all(
        faults.map((fault, at) =>
          check(fault, prompts[at] ?? '').catch((error: unknown) => {
            throw new Error(`${fault}: ${(error as Error).message}`, { cause: error })
          }),
        ),
      )
    }

    for (const [at, request] of given.requests.entries())
      it(`makes a video of ${request.model}${request.image ? ' with an image' : ''}, also over a restart (${at})`, async () => {
        order({})
        const operation = JSON.parse(JSON.stringify(await submit(request))) as Json
        assert.equal(upstream.ledger().accepts.at(-1)?.prompt, request.prompt)
        provider = await given.member.create({ folder: '', media: undefined as never })
        assert.deepEqual(await film(await finish(operation)), tinyFilm)
      })

    it('says how far it is, in numbers from 0 to 100, or that it does not know', async () => {
      order({ speed: 60_000 })
      const progress = await poll(await submit(asked('slow')))
      assert.equal(progress.status, 'running')
      const { progress: number } = progress as { progress: number | null }
      assert.ok(number === null || (number >= 0 && number <= 100))
    })

    it('knows its own operations by their looks, and takes nothing else for one', async () => {
      const { operations } = provider
      assert.ok(operations, 'it says what its operations look like')
      const call = callOf()
      const operation = JSON.parse(JSON.stringify(await submit(asked('looks'), call))) as Json
      assert.equal(operations.fits(operation, call.attemptId), true)
      for (const odd of [null, true, '', ' ', '.', '..', '../..', 'a/b', [], {}, { id: {} }, [operation]])
        assert.equal(operations.fits(odd, call.attemptId), false, JSON.stringify(odd))
    })

    it('tells whose fault a refusal is, and how long to wait', async () => {
      const refusals = shown(submitFaults, /^submit-(400|401|402|403|404|413|415|422|429|429-seconds)-before/)
      await each(refusals, async (fault, prompt) => {
        const answer = await provider.submit(asked(prompt), callOf())
        assert.ok('refused' in answer, 'it is a refusal')
        const { blame, problem, retryAfterMs } = answer.refused
        const status = Number(fault.split('-')[1])
        assert.equal(blame, status === 429 ? 'busy' : status > 400 && status < 404 ? 'account' : 'request')
        if (fault.includes('seconds')) assert.equal(retryAfterMs, 1_000)
        assertNoKey(problem, given.key)
      })
    })

    it('leaves open what an answer does not say: whatever is no clear yes or no is thrown', async () => {
      const refusals = /^submit-(400|401|402|403|404|413|415|422|429.*|401-cut|200-unknown)-before/
      const odd = shown(submitFaults, /./).filter(
        (fault) =>
          !refusals.test(fault) && !/unread|refuse-connection|200-(deep|huge|length-too-short|drip)/.test(fault),
      )
      await each(odd, async (_fault, prompt) => {
        await assert.rejects(provider.submit(asked(prompt), callOf()), (error) => assertNoKey(error, given.key))
      })
    })

    it('says that nothing left where nobody listens', async () => {
      const nowhere = outbound.upstream('http://127.0.0.1:1')
      await assert.rejects(provider.submit(asked('nowhere'), { ...callOf(), ...nowhere }), {
        code: 'provider_unreachable',
      })
    })

    it('takes no odd poll for an end, and no unknown status for a failure', async () => {
      const ends = /^poll-(failed|policy|404|404-for-a-while)$/
      const odd = shown(pollFaults, /./).filter((fault) => !ends.test(fault) && !/drip|deep|huge|short/.test(fault))
      await each(odd, async (fault, prompt) => {
        const operation = await submit(asked(prompt))
        const answer = await poll(operation).catch((error: unknown) => {
          assertNoKey(error, given.key)
          assert.equal(Problem.from(error).retryable, true)
          return { status: 'running' } as Progress
        })
        assert.ok(['running', 'succeeded'].includes(answer.status), `${fault} is ${answer.status}`)
        if (answer.status === 'succeeded') assert.deepEqual(await film(answer.output), tinyFilm)
      })
    })

    it('knows a failure, a refused content, and a job that is gone', async () => {
      const ends = shown(pollFaults, /^poll-(failed|policy|404-for-a-while)$/)
      const check = async (fault: string, prompt: string) => {
        const answer = await poll(await submit(asked(prompt)))
        if (fault === 'poll-404-for-a-while') return assert.deepEqual(answer, { status: 'missing' })
        assert.equal(answer.status, 'failed')
        const { problem } = answer as { problem: Problem }
        assert.equal(problem.code, fault === 'poll-policy' ? 'content_policy' : 'generation_failed')
        assertNoKey(problem, given.key)
      }
      await each(ends, check, { speed: 60_000 })
    })

    it('tells a link that is of no use from a host that is busy, and gets a new link by a new poll', async (test) => {
      const faults = shown(downloadFaults, /^download-(403|404|410|429|500|503)$/)
      if (faults.length === 0) return test.skip('its films are inside its polls')
      await each(faults, async (fault, prompt) => {
        const operation = await submit(asked(prompt))
        const output = await finish(operation)
        const isGone = /403|404|410/.test(fault)
        await assert.rejects(film(output), (error) => {
          assertNoKey(error, given.key)
          const { code, retryable } = Problem.from(error)
          assert.deepEqual([code, retryable], [isGone ? 'output_unavailable' : 'provider_unavailable', true])
          return true
        })
        assert.deepEqual(await film(await finish(operation)), tinyFilm)
      })
    })

    it('fails while the bytes break off', async (test) => {
      const faults = shown(downloadFaults, /^download-(cut|reset-in-body|hang)$/)
      if (faults.length === 0) return test.skip('its films are inside its polls')
      await each(faults, async (_fault, prompt) => {
        const output = await finish(await submit(asked(prompt)))
        await assert.rejects(film(output))
      })
    })

    it('fetches by a new link what has expired', async (test) => {
      if (!wire().filmsApart) return test.skip('its films have no links')
      order({ linkMs: 60 })
      const operation = await submit(asked('expires'))
      const output = await finish(operation)
      await sleep(80)
      await assert.rejects(film(output), { code: 'output_unavailable' })
      order({})
      assert.deepEqual(await film(await finish(operation)), tinyFilm)
    })

    it('stops work where it can, and says so where it is too late', async (test) => {
      if (!provider.cancel) return test.skip('it can not be asked to stop')
      order({ speed: 60_000 })
      const operation = await submit(asked('to be stopped'))
      const answer = await provider.cancel(operation, callOf())
      // Who says that it was stopped must not go on with it.
      if (answer === 'cancelled') assert.ok(['failed', 'missing'].includes((await poll(operation)).status))
      order({})
      const done = await submit(asked('too late'))
      // Or it forgets what is finished, as it does what it stops.
      if ((await provider.cancel(done, callOf())) === 'cancelled')
        assert.deepEqual(await poll(done), { status: 'missing' })
    })

    it('finds what was taken although nobody heard of it', async (test) => {
      const { find, recovery } = provider
      if (recovery === 'none') return test.skip('it offers nothing after a submit of unknown outcome')
      const [taken, lost] = [`${name} taken`, `${name} lost`]
      order({
        speed: 60_000,
        next: [
          { fault: 'submit-reset-after-accept', prompt: taken },
          { fault: 'submit-reset-before-accept', prompt: lost },
        ],
      })
      const call = callOf()
      const openedAt = Date.now()
      await assert.rejects(provider.submit(asked(taken), call))
      const id = upstream.ledger().accepts.at(-1)?.id ?? ''
      if (recovery === 'key') return assert.match(JSON.stringify(await submit(asked(taken), call)), new RegExp(id))
      const found = await find?.(asked(taken), openedAt, call)
      // A list without prompts can't prove a match.
      const named = listsBlindly ? found?.possible : found?.matches
      assert.equal(listsBlindly ? found?.matches.length : found?.possible.length, 0)
      assert.match(JSON.stringify(named), new RegExp(id))
      assert.equal(provider.operations?.fits(named?.at(-1) ?? null, call.attemptId), true)
      const other = callOf()
      await assert.rejects(provider.submit(asked(lost), other))
      if (!listsBlindly)
        assert.deepEqual(await find?.(asked(lost), openedAt, other), { matches: [], possible: [], isPartial: false })
    })

    it('asks a question that only a good key gets an answer to, and that costs nothing', async () => {
      assert.ok(provider.check, 'it has one')
      const before = upstream.ledger().accepts.length
      assert.equal((await provider.check(callOf())).ok, true)
      assert.equal(upstream.ledger().accepts.length, before)
    })
  })
}
