import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keyVersionOf } from '../core/account.ts'
import { Problem } from '../core/problem.ts'
import { holdMs, recordRetentionMs } from '../core/timing.ts'
import { PrivateUrlRefusal } from '../outbound/target.ts'
import type { Provider } from '../providers/provider.ts'
import { newTask } from '../stores/contract.ts'
import { collect } from './collect.ts'
import { makeWorld, openAttempt, sends, testWorker } from './contract.ts'
import { discard } from './discard.ts'
import { expire } from './expire.ts'
import { fetch } from './fetch.ts'
import { workers } from './index.ts'
import { poll } from './poll.ts'
import { rehome } from './rehome.ts'
import { submit } from './submit.ts'
import type { Account, Worker } from './worker.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const asset = { key: 'a/b', bytes: 1, sha256: 'c' }
const queued = newTask('1', { account: 'p' })
const held = newTask('1', { account: 'p', state: 'held', attempt: 'att_1', attempts: 1 })
const running = newTask('1', {
  account: 'p',
  attempt: 'att_1',
  state: 'running',
  startedAt: 1,
  progress: 30,
  operation: 'op',
})
const storing = newTask('1', {
  account: 'p',
  state: 'storing',
  startedAt: 1,
  progress: 99,
  operation: 'op',
  output: 'out',
  fence: 3,
})
const completed = newTask('1', {
  account: 'p',
  state: 'completed',
  startedAt: 1,
  completedAt: 500,
  expiresAt: 900_000,
  progress: 100,
  video: asset,
  operation: 'op',
})
const failed = newTask('1', { state: 'failed', error: { code: 'internal', message: 'x' } })

testWorker(submit, { queued, held })
testWorker(poll, { running })
testWorker(collect, { storing })
testWorker(expire, { completed, failed })
testWorker(rehome, { held, running, storing })
testWorker(discard, { queued, held, running, storing, completed, failed }, [
  'queued',
  'held',
  'running',
  'storing',
  'completed',
  'failed',
])

it('every state has exactly one worker that moves its tasks', () => {
  assert.deepEqual(workers.flatMap(({ states }) => states).sort(), [
    'completed',
    'failed',
    'fetching',
    'held',
    'queued',
    'running',
    'storing',
  ])
})

const fetching = newTask('1', { state: 'fetching', image: { url: 'https://example.com/a.png' }, fence: 1 })

testWorker(fetch, { fetching })

it('fetch: an image given as a URL is stored, whatever content type its server says', async () => {
  const world = await makeWorld(fetch)
  world.tools.outbound.of(fetching.owner).download = async () => ({ bytes: png, contentType: 'text/plain' })
  const { after } = await world.run(fetching)
  assert.ok(after?.image && 'asset' in after.image)
  assert.deepEqual([after.state, after.image.type, after.image.asset.bytes], ['queued', 'image/png', png.length])
  const submitting = await makeWorld(submit)
  submitting.tools.bucket = world.tools.bucket
  let seen: unknown
  submitting.answers.submit = async ({ image }) => {
    seen = image
    return { operation: 'op' }
  }
  await submitting.run({ ...after, account: 'p' })
  assert.deepEqual(seen, { type: 'image/png', bytes: png })
})

it('fetch: a URL that gives no image fails the task', async () => {
  const world = await makeWorld(fetch)
  world.tools.outbound.of(fetching.owner).download = async () => ({
    bytes: Buffer.from('<html>not here</html>'.padEnd(40)),
    contentType: 'image/png',
  })
  await assert.rejects(world.run(fetching), { code: 'invalid_image' })
})

it('poll: the status of the provider becomes progress, the next state, or the failure', async () => {
  const world = await makeWorld(poll)
  world.answers.poll = async () => ({ status: 'running', progress: 70 })
  assert.equal((await world.run(running)).after?.progress, 70)
  world.answers.poll = async () => ({ status: 'succeeded', output: { file: 1 } })
  const { after } = await world.run(running)
  assert.deepEqual([after?.state, after?.output], ['storing', { file: 1 }])
  world.answers.poll = async () => ({ status: 'succeeded', output: 1, note: ['seen', { what: 'a fox' }] })
  const { decision } = await world.run(running)
  assert.deepEqual('note' in decision && decision.note, ['seen', { what: 'a fox' }])
  world.answers.poll = async () => ({ status: 'failed', problem: new Problem('generation_failed', 'too dark') })
  world.known.attempts = async () => ['att_0', 'att_1'].map((id) => openAttempt(running, { id, state: 'accepted' }))
  assert.deepEqual((await world.run(running)).after?.error, { code: 'generation_failed', message: 'too dark' })
})

it('poll: usage that can not be true is a warning', async () => {
  const world = await makeWorld(poll)
  const parts = [{ quantity: 1_000, price: '0.001', metered: true }] as const
  const metered = { charge: parts, cost: parts }
  const price = { currency: 'USD', charge: 1_000_000, cost: 1_000_000, billsFailures: true, metered }
  const warningAt = async (outputTokens: number) => {
    world.answers.poll = async () => ({ status: 'succeeded', output: 1, usage: { outputTokens } })
    const { decision } = await world.run({ ...running, price })
    return 'warning' in decision ? decision.warning : undefined
  }
  assert.equal(await warningAt(100_000), undefined)
  const detail = '1000000000000000 output tokens; the posted cost is 100 USD'
  assert.deepEqual(await warningAt(10 ** 15), ['the provider reported more usage than can be true', detail])
})

it('poll: an unbilled failure goes on to the next route, a refusal of the prompt does not', async () => {
  const world = await makeWorld(poll)
  const forgotten: unknown[] = []
  world.answers.forget = async (operation) => void forgotten.push(operation)
  world.answers.poll = async () => ({ status: 'failed', problem: new Problem('generation_failed', 'too dark') })
  const { after, decision } = await world.run({ ...running, tried: ['q'] })
  assert.deepEqual([after?.state, after?.tried, after?.operation], ['queued', ['p'], null])
  assert.equal(after?.startBy, running.finishBy)
  if ('afterwards' in decision) await decision.afterwards?.()
  assert.deepEqual(forgotten, ['op'])
  world.answers.poll = async () => ({ status: 'failed', problem: new Problem('content_policy', 'no swords') })
  assert.equal((await world.run(running)).after?.error?.code, 'content_policy')
})

it('poll: progress that the provider does not report is estimated, and an unknown job is lost after two minutes', async () => {
  const world = await makeWorld(poll)
  world.tools.durations.set('m', [2_000_000])
  world.answers.poll = async () => ({ status: 'running', progress: null })
  assert.equal((await world.run({ ...running, startedAt: 1, progress: 0 })).after?.progress, 44)
  world.answers.poll = async () => ({ status: 'missing' })
  const { after } = await world.run(running)
  assert.deepEqual([after?.state, after?.missingAt], ['running', 1_000_000])
  assert.equal((await world.run({ ...running, missingAt: 880_000 })).after?.error?.code, 'lost_upstream')
})

it('poll: at most as many attempts begin as there are routes; refused ones do not count', async () => {
  const world = await makeWorld(poll)
  world.answers.poll = async () => ({ status: 'failed', problem: new Problem('generation_failed', 'too dark') })
  const stateAfter = async (...states: ('refused' | 'accepted' | 'orphan')[]) => {
    world.known.attempts = async () => states.map((state, at) => openAttempt(running, { id: `att_${at}`, state }))
    return (await world.run(running)).after?.state
  }
  assert.equal(await stateAfter('refused', 'refused', 'accepted'), 'queued')
  assert.equal(await stateAfter('accepted', 'refused', 'accepted'), 'failed')
  assert.equal(await stateAfter('orphan', 'accepted'), 'failed')
})

for (const thrown of [
  new Problem('provider_unavailable', '401'),
  new Problem('generation_failed', 'x'),
  new Error('y'),
])
  it(`poll: an error is not a response, and ends nothing (${thrown.message})`, async () => {
    const world = await makeWorld(poll)
    world.answers.poll = () => Promise.reject(thrown)
    await assert.rejects(world.run(running), { code: 'provider_unavailable', retryable: true })
    assert.equal((await world.run({ ...running, finishBy: 1_000_000 })).after?.error?.code, 'deadline_exceeded')
  })

it('poll: a full disk keeps its code', async () => {
  const world = await makeWorld(poll)
  world.answers.poll = () => Promise.reject(Problem.ofStorage('full'))
  await assert.rejects(world.run(running), { code: 'storage_unavailable' })
})

it('poll: a job that was missing and then succeeds has all its time for the download; a fresh link has what is left', async () => {
  const world = await makeWorld(poll)
  world.answers.poll = async () => ({ status: 'succeeded', output: 'out' })
  assert.equal((await world.run({ ...running, missingAt: 881_000 })).after?.missingAt, null)
  const useless = { ...running, missingAt: 881_000, output: 'old link' }
  assert.equal((await world.run(useless)).after?.missingAt, 881_000)
  world.answers.poll = async () => ({ status: 'missing' })
  const { after } = await world.run(useless)
  assert.deepEqual([after?.missingAt, after?.output], [1_000_000, null])
})

it('poll: past its deadline a task fails, and its job is stopped, unless the service ends first', async () => {
  const world = await makeWorld(poll)
  const stopped: unknown[] = []
  let signal: AbortSignal | undefined
  world.answers.poll = async (_operation, call) => {
    signal = call.signal
    return { status: 'running', progress: 10 }
  }
  world.answers.cancel = async (operation, call) => {
    stopped.push(operation)
    assert.equal(call.signal, signal, 'the end of the service would not end it')
    return 'cancelled'
  }
  const { after, decision } = await world.run({ ...running, finishBy: 1_000_000 })
  assert.equal(after?.error?.code, 'deadline_exceeded')
  if ('afterwards' in decision) await decision.afterwards?.()
  assert.deepEqual(stopped, ['op'])
})

it('poll: a result whose handle is too long is polled for again', async () => {
  const world = await makeWorld(poll)
  world.answers.poll = async () => ({ status: 'succeeded', output: 'x'.repeat(16_385) })
  await assert.rejects(world.run(running), ({ code, cause }) => {
    assert.match(String(cause), /the handle of the result has 16387 bytes; at most 16384 are accepted/)
    return code === 'provider_unavailable'
  })
})

it('collect: the bytes are in the bucket before the task is completed, and the provider may forget them after', async () => {
  const world = await makeWorld(collect)
  let forgotten = false
  world.answers.forget = async () => {
    forgotten = true
  }
  const { after, decision } = await world.run(storing)
  assert.equal(after?.state, 'completed')
  assert.equal(await world.read(after?.video?.key ?? ''), 'bytes')
  const again = await world.run({ ...storing, fence: storing.fence + 1 })
  assert.notEqual(again.after?.video?.key, after?.video?.key, 'another lease must write under another key')
  assert.ok((after?.expiresAt ?? 0) > (after?.completedAt ?? 0))
  assert.equal(forgotten, false)
  if ('afterwards' in decision) await decision.afterwards?.()
  assert.equal(forgotten, true)
})

it('collect: a video that does not play is never stored, and fails after two minutes', async () => {
  const world = await makeWorld(collect)
  world.tools.media.verify = async () => {
    throw new Problem('unsupported_output', 'not playable')
  }
  assert.equal((await world.run(storing)).after?.state, 'running')
  assert.equal(await world.read(`${storing.id}/video.${storing.fence}.mp4`), undefined, 'it was stored')
  await assert.rejects(world.run({ ...storing, missingAt: 880_000 }), { code: 'unsupported_output', retryable: false })
})

it('collect: a body shorter than it says, or one that is gone, sends the task back for a fresh link, for two minutes', async () => {
  const world = await makeWorld(collect)
  world.answers.download = async () => new Response('short', { headers: { 'content-length': '500' } })
  assert.deepEqual([(await world.run(storing)).after?.state, (await world.run(storing)).after?.tries], ['running', 1])
  world.answers.download = async () => {
    throw new Problem('output_unavailable', 'gone', { retryable: true })
  }
  const { after } = await world.run({ ...storing, tries: 9, missingAt: 990_000 })
  assert.deepEqual([after?.state, after?.missingAt, after?.dueAt], ['running', 990_000, 1_010_000])
  assert.equal(after?.output, 'out', 'else the next poll takes it for a job that was missing')
  await assert.rejects(world.run({ ...storing, missingAt: 880_000 }), { code: 'output_unavailable', retryable: false })
})

it('collect: the operator is told which host of a result is not allowed, and how to allow it', async () => {
  const world = await makeWorld(collect)
  const cause = new PrivateUrlRefusal('it is private', 'Use a public URL.', 'cdn.test is at 10.0.0.3')
  world.answers.download = async () => {
    throw new Problem('output_unavailable', 'gone', { retryable: true, cause })
  }
  const { decision } = await world.run(storing)
  assert.match(JSON.stringify(decision), /"why":"cdn\.test is at 10\.0\.0\.3; to allow it, add it to outbound\.allow/)
})

it('expire: the bytes go at the expiry, the row a month later', async () => {
  const world = await makeWorld(expire)
  const put = async function* () {
    yield Buffer.from('x')
  }
  await world.tools.bucket.put(`${completed.id}/video.mp4`, put(), new AbortController().signal)
  const early = await world.run({ ...completed, expiresAt: 2_000_000 })
  assert.equal(early.after?.dueAt, 2_000_000)
  assert.equal(await world.read(`${completed.id}/video.mp4`), 'x')
  const { after } = await world.run(completed)
  assert.equal(await world.read(`${completed.id}/video.mp4`), undefined)
  // As where the service was off, and the expiry and the month fall into one look.
  await world.tools.bucket.put(`${completed.id}/video.mp4`, put(), new AbortController().signal)
  assert.deepEqual([after?.state, after?.video, after?.dueAt], ['completed', null, 900_000 + recordRetentionMs])
  const old = { ...completed, expiresAt: 900_000 - recordRetentionMs }
  assert.deepEqual((await world.run(old)).decision, { remove: true })
  assert.equal(await world.read(`${completed.id}/video.mp4`), undefined, 'no row would lead to these bytes any more')
})

it('discard: the work is forgotten, the bytes and the row go', async () => {
  const world = await makeWorld(discard)
  const forgotten: unknown[] = []
  world.answers.forget = async (operation) => void forgotten.push(operation)
  const put = async function* () {
    yield Buffer.from('x')
  }
  await world.tools.bucket.put(`${running.id}/image`, put(), new AbortController().signal)
  assert.deepEqual((await world.run(running)).decision, { remove: true, work: 'stopped' })
  assert.deepEqual(forgotten, ['op'])
  assert.equal(await world.read(`${running.id}/image`), undefined)
})

it('discard: work that cannot be stopped is waited for, never fetched', async () => {
  const world = await makeWorld(discard)
  world.answers.cancel = async () => 'too_late'
  assert.equal((await world.run(running)).after?.state, 'running')
  world.answers.poll = async () => ({ status: 'succeeded', output: 'x' })
  world.answers.download = async () => assert.fail('it was fetched')
  const end = { state: 'completed', usage: null, error: null }
  assert.deepEqual((await world.run(running)).decision, { remove: true, work: 'over', end })
})

describe('an account whose address has changed', () => {
  const now = 1_000_000
  const begun = { ...running, progress: 0 }
  const orphaned = { remove: true, orphans: true, work: 'unknown' }
  const worldOf = async (provider: Partial<Provider>, keyVersion: string, worker: Pick<Worker, 'name' | 'run'>) => {
    const world = await makeWorld(worker)
    const account = world.tools.accounts.get('p') as Account
    Object.assign(account.provider, provider)
    Object.assign(account, { keyVersion })
    return world
  }
  const [before, after] = ['https://a', 'https://b'].map((address) => keyVersionOf(address, 'key')) as [string, string]
  const rotated = keyVersionOf('https://a', 'another key')
  const unasked: Partial<Provider> = {
    submit: sends({ operation: 'sent again' }),
    find: async () => assert.fail('it was asked for jobs'),
    poll: async () => assert.fail('it was polled'),
    cancel: async () => assert.fail('it was told to stop'),
    download: async () => assert.fail('it was asked for a video'),
  }
  const waits = ({ code, retryable, cause }: { code: string; retryable: boolean; cause: unknown }) =>
    code === 'provider_unavailable' && retryable && /account 'p' had another address/.test(String(cause))

  it('is waited for by tasks that were sent to the old one: held half an hour at most, running until their deadline', async () => {
    for (const recovery of ['key', 'lookup', 'list', 'none'] as const) {
      const { run } = await worldOf({ ...unasked, recovery }, after, submit)
      await assert.rejects(run(held, { keyVersion: before }), waits)
      const end = await run(held, { keyVersion: before, openedAt: now - holdMs })
      assert.equal(end.after?.error?.code, 'submission_unknown')
    }
    const polled = await worldOf(unasked, after, poll)
    await assert.rejects(polled.run(begun, { keyVersion: before }), waits)
    const fetched = await worldOf(unasked, after, collect)
    await assert.rejects(fetched.run({ ...begun, state: 'storing', output: 'x' }, { keyVersion: before }), waits)
  })

  it('is not asked to stop a deleted task: its attempt is left as an orphan', async () => {
    const { run } = await worldOf({ ...unasked, recovery: 'list' }, after, discard)
    for (const task of [begun, held]) assert.deepEqual((await run(task, { keyVersion: before })).decision, orphaned)
  })

  it('is not told to forget the job of an expired video', async () => {
    const expired = { ...completed, attempt: 'att_1' }
    const forgottenBy = async (keyVersion: string) => {
      const forgotten: unknown[] = []
      const { run } = await worldOf({ forget: async (operation) => void forgotten.push(operation) }, after, expire)
      assert.equal((await run(expired, { keyVersion })).after?.video, null)
      return forgotten
    }
    assert.deepEqual(await forgottenBy(before), [])
    assert.deepEqual(await forgottenBy(after), ['op'])
  })

  it('whose key has changed may not see the old jobs: they are not lost before their deadline', async () => {
    const missing = { poll: async () => ({ status: 'missing' as const }) }
    const long = { ...begun, missingAt: now - 86_400_000 }
    const pollSentWith = async (keyVersion: string) => (await worldOf(missing, rotated, poll)).run(long, { keyVersion })
    await assert.rejects(pollSentWith(before), { code: 'provider_unavailable', retryable: true })
    assert.equal((await pollSentWith(rotated)).after?.error?.code, 'lost_upstream')
  })

  it('is not mixed up with one whose key has changed, or whose attempt is older than the record of addresses', async () => {
    for (const keyVersion of [rotated, '12345678']) {
      const { run } = await worldOf({}, before, poll)
      assert.equal((await run(begun, { keyVersion })).after?.progress, 10)
    }
  })
})
