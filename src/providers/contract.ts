import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { tinyFilm } from '../../simulators/upstream/tiny-film.ts'
import type { Wire } from '../../simulators/upstream/wire.ts'
import {
  downloadFaults,
  type NextFault,
  type Orders,
  pollFaults,
  startUpstream,
  submitFaults,
  type Upstream,
  withoutMark,
} from '../../simulators/upstream.ts'
import { messageOf, Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import { type Outbound, openOutbound } from '../outbound.ts'
import type { Call, Member, Progress, Provider, ProviderRequest, Submitted } from './provider.ts'

/* The simulators' base, for the package: it exports this file as `filmgate/provider/contract`. */
export { type Answer, json } from '../../simulators/upstream/answer.ts'
export type { Claim, Job } from '../../simulators/upstream/jobs.ts'
export {
  type Head,
  type Place,
  parsed,
  type Question,
  respond,
  type Wire,
  type WireRequest,
} from '../../simulators/upstream/wire.ts'
export { startUpstream } from '../../simulators/upstream.ts'

/** What every provider must do. */
export interface ProviderWorld {
  /** Opens the provider as after a restart: everything in its memory is gone. */
  open(): Promise<Provider>
  request: ProviderRequest
  /** Waits until a poll may have news. */
  pause(): Promise<void>
}

export function testProvider(name: string, makeWorld: () => Promise<ProviderWorld & AsyncDisposable>): void {
  describe(`the ${name} provider`, () => {
    it('generates a video: submit, poll until it succeeded, download', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const operation = await submit(provider, world.request)
      assertMp4(await download(provider, await finish(provider, operation, world)))
    })

    it('finishes an operation from before a restart', async () => {
      await using world = await makeWorld()
      const operation = await submit(await world.open(), world.request)
      const provider = await world.open()
      const stored = JSON.parse(JSON.stringify(operation)) as Json
      assertMp4(await download(provider, await finish(provider, stored, world)))
    })

    it('reports progress as a number from 0 to 100, or none', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const operation = await submit(provider, world.request)
      const seen: number[] = []
      await finish(provider, operation, world, (progress) => seen.push(progress))
      for (const progress of seen) assert.ok(progress >= 0 && progress <= 100, String(progress))
    })

    it('forgets an operation, finished or not, also twice', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const operation = await submit(provider, world.request)
      await provider.forget?.(operation, call())
      await provider.forget?.(operation, call())
    })

    it('recognises its own operations and nothing else, if it has a form for them', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const { operations } = provider
      if (!operations) return
      const operation = JSON.parse(JSON.stringify(await submit(provider, world.request))) as Json
      assert.equal(operations.fits(operation, attemptIds[0]), true)
      assert.notEqual(operations.example, '')
      for (const odd of [null, true, 7, '', ' ', '.', '..', '../..', 'a/b', [], {}, { id: {} }, [operation]])
        assert.equal(operations.fits(odd, attemptIds[0]), false, JSON.stringify(odd))
    })
  })
}

/** Ids in the form of the engine. */
export const attemptIds = ['0', '1'].map((digit) => `att_${digit.repeat(36)}`) as [string, string]

export function call(attemptId = attemptIds[0]): Call {
  const offline = () => Promise.reject(new Error('this provider has no network'))
  const { signal } = new AbortController()
  return { signal, attemptId, credential: null, now: () => 0, send: offline, fetch: offline, download: offline }
}

/** The operation of a submit that is accepted. */
export async function submit(provider: Provider, request: ProviderRequest, attemptId = attemptIds[0]): Promise<Json> {
  const answer = await provider.submit(request, call(attemptId))
  assert.ok('operation' in answer)
  return answer.operation
}

export async function finish(
  provider: Provider,
  operation: Json,
  world: Pick<ProviderWorld, 'pause'>,
  onProgress: (progress: number) => void = () => {},
): Promise<Json> {
  for (;;) {
    const answer = await provider.poll(operation, call())
    if (answer.status === 'succeeded') return answer.output
    if (answer.status === 'failed') throw answer.problem
    assert.equal(answer.status, 'running', 'it does not know its own operation')
    if (answer.progress !== null) onProgress(answer.progress)
    await world.pause()
  }
}

export async function download(provider: Provider, output: Json): Promise<Buffer> {
  return bytesOf(await provider.download(output, call()))
}

function assertMp4(bytes: Buffer): void {
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
}

/** What every provider on the network must do, with its simulator. */
export interface NetworkCase {
  member: Member
  wire(): Wire
  /** The path of the API below the simulator's origin. */
  path?: string
  key: string
  /** One for each kind of request: text only, with an image, each kind of model. Most tests use the first. */
  requests: readonly [ProviderRequest, ...ProviderRequest[]]
  /** Its list has too few fields to recognise an attempt. */
  listsBlindly?: true
  /** Faults that this wire can't show, with the reason. */
  without?: Readonly<Record<string, string>>
}

/** One red pixel. */
export const picture = {
  type: 'image/png' as const,
  bytes: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
    'base64',
  ),
}

/** The same deadlines as in production, and hundreds of times shorter. */
const impatient = {
  connectMs: 2_000,
  headersMs: 1_500,
  bodyIdleMs: 1_500,
  totalMs: 3_000,
  downloadHeadersMs: 1_500,
  downloadIdleMs: 1_500,
  downloadPaceMs: 1_000,
  downloadPaceBytes: 100,
  downloadCloseMs: 50,
}

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
      signal: new AbortController().signal,
      attemptId,
      credential,
      now: () => Date.now(),
    })
    /** By default, there are no faults and jobs are done at once. */
    const order = (orders: Orders) => upstream.setFaults({ next: [], rates: {}, speed: 0, linkMs: 0, ...orders })
    /** A request with a prompt of its own, because faults are chosen by the prompt. */
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
    /** Runs the check for each fault, all at once, each with a prompt of its own. */
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
            throw new Error(`${fault}: ${messageOf(error)}`, { cause: error })
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

    it('reports progress as a number from 0 to 100, or none', async () => {
      order({ speed: 60_000 })
      const progress = await poll(await submit(asked('slow')))
      assert.equal(progress.status, 'running')
      const { progress: number } = progress as { progress: number | null }
      assert.ok(number === null || (number >= 0 && number <= 100))
    })

    it('recognises its own operations and nothing else', async () => {
      const { operations } = provider
      assert.ok(operations, 'it has a form for its operations')
      const call = callOf()
      const operation = JSON.parse(JSON.stringify(await submit(asked('looks'), call))) as Json
      assert.equal(operations.fits(operation, call.attemptId), true)
      for (const odd of [null, true, '', ' ', '.', '..', '../..', 'a/b', [], {}, { id: {} }, [operation]])
        assert.equal(operations.fits(odd, call.attemptId), false, JSON.stringify(odd))
    })

    it('reports who is to blame for a refusal, and how long to wait', async () => {
      const refusals = shown(submitFaults, /^submit-(400|401|402|403|404|413|415|422|429|429-seconds)-before/)
      await each(refusals, async (fault, prompt) => {
        const answer = await provider.submit(asked(prompt), callOf())
        assert.ok('refused' in answer, 'it is a refusal')
        const { blame, problem, retryAfterMs } = answer.refused
        const status = Number(fault.split('-')[1])
        assert.equal(blame, status === 429 ? 'busy' : status > 400 && status < 404 ? 'account' : 'request')
        if (fault.includes('seconds')) assert.equal(retryAfterMs, 1_000)
        if (status === 402) assert.equal(answer.refused.isCredit, true, 'it has no credit left')
        if (status === 404) assert.equal(answer.refused.isModelUnknown, true, 'it does not know the model')
        assertNoKey(problem, given.key)
      })
    })

    it('throws on every response that is neither a clear acceptance nor a clear refusal', async () => {
      const refusals = /^submit-(400|401|402|403|404|413|415|422|429.*|401-cut|200-unknown)-before/
      const odd = shown(submitFaults, /./).filter(
        (fault) =>
          !refusals.test(fault) && !/unread|refuse-connection|200-(deep|huge|length-too-short|drip)/.test(fault),
      )
      await each(odd, async (_fault, prompt) => {
        await assert.rejects(provider.submit(asked(prompt), callOf()), (error) => assertNoKey(error, given.key))
      })
    })

    it('reports that nothing was sent if the connection is refused', async () => {
      const nowhere = outbound.upstream('http://127.0.0.1:1')
      await assert.rejects(provider.submit(asked('nowhere'), { ...callOf(), ...nowhere }), {
        code: 'provider_unreachable',
      })
    })

    it('treats no odd poll as the end of a job, and no unknown status as a failure', async () => {
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

    it('recognises a failure, a content refusal, and an unknown job', async () => {
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

    it('distinguishes a dead link from a busy host, and gets a new link by a new poll', async (test) => {
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

    it('fails if a download breaks off', async (test) => {
      const faults = shown(downloadFaults, /^download-(cut|reset-in-body|hang)$/)
      if (faults.length === 0) return test.skip('its films are inside its polls')
      await each(faults, async (_fault, prompt) => {
        const output = await finish(await submit(asked(prompt)))
        await assert.rejects(film(output))
      })
    })

    it('downloads by a new link after the first one expired', async (test) => {
      if (!wire().filmsApart) return test.skip('its films have no links')
      order({ linkMs: 60 })
      const operation = await submit(asked('expires'))
      const output = await finish(operation)
      await sleep(80)
      await assert.rejects(film(output), { code: 'output_unavailable' })
      order({})
      assert.deepEqual(await film(await finish(operation)), tinyFilm)
    })

    it('cancels a job, or reports that it is too late', async (test) => {
      if (!provider.cancel) return test.skip('it has no cancel')
      order({ speed: 60_000 })
      const operation = await submit(asked('to be stopped'))
      const answer = await provider.cancel(operation, callOf())
      // A job that was reported as cancelled must not continue.
      if (answer === 'cancelled') assert.ok(['failed', 'missing'].includes((await poll(operation)).status))
      order({})
      const done = await submit(asked('too late'))
      // A provider may also forget a finished job.
      if ((await provider.cancel(done, callOf())) === 'cancelled')
        assert.deepEqual(await poll(done), { status: 'missing' })
    })

    it('finds a job that was accepted although its response was lost', async (test) => {
      const { find, recovery } = provider
      if (recovery === 'none') return test.skip('it has no recovery')
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

    it('checks the key with a free request', async () => {
      assert.ok(provider.check, 'it has one')
      const before = upstream.ledger().accepts.length
      assert.equal((await provider.check(callOf())).ok, true)
      assert.equal(upstream.ledger().accepts.length, before)
    })
  })
}

function operationOf(answer: Submitted): Json {
  assert.ok('operation' in answer, 'refused' in answer ? inspect(answer.refused) : '')
  return answer.operation
}

async function bytesOf({ body }: Response): Promise<Buffer> {
  assert.ok(body)
  return buffer(body)
}

/** Neither in the message nor in its causes. */
function assertNoKey(error: unknown, key: string): true {
  assert.ok(!inspect(error, { depth: 10 }).includes(key), 'the key is in an error')
  return true
}
