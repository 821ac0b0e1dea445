import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { it } from 'node:test'
import { Problem } from '../core/problem.ts'
import { queueTask, type Task, type TaskImage } from '../core/task.ts'
import { nextTry } from '../core/timing.ts'
import { collect } from './collect.ts'
import { makeWorld } from './contract.ts'
import type { Account } from './worker.ts'

const storing: Task = {
  ...queueTask(
    {
      id: 'video_1',
      owner: 'o',
      model: 'm',
      card: 'm',
      prompt: 'x',
      parameters: {},
      image: null,
      digest: 0,
      seconds: 4,
      size: { width: 2, height: 2 },
      startBy: 9e12,
      finishBy: 9e12,
    },
    900_000,
  ),
  state: 'storing',
  account: 'p',
  attempt: 'att_1',
  attempts: 1,
  startedAt: 900_000,
  operation: 'op',
  output: 'o',
}

it('collect: the task has the facts of the video, and its request stays as it was', async () => {
  const world = await makeWorld(collect)
  const { decision, after } = await world.run(storing)
  const facts = { width: 2, height: 2, duration: 4, frameRate: 24, codec: 'h264', bytes: 5 }
  assert.deepEqual([after?.videoFacts, after?.warnings], [facts, []])
  assert.deepEqual([after?.seconds, after?.size], [storing.seconds, storing.size])
  assert.ok('change' in decision && decision.note === undefined)
})

it('collect: nothing about a finished task stays in memory', async () => {
  const { tools, run } = await makeWorld(collect)
  tools.keyVersions.set('att_1', 'v')
  await run(storing)
  assert.equal(tools.keyVersions.get('att_1'), undefined)
})

it('collect: nothing is requested if there is no file to write it to', async () => {
  const world = await makeWorld(collect)
  let requests = 0
  const provider = world.tools.accounts.get('p')?.provider
  assert.ok(provider)
  const download = provider.download.bind(provider)
  provider.download = (...call) => {
    requests += 1
    return download(...call)
  }
  await world.run(storing)
  assert.equal(requests, 1)
  world.tools.scratch = '/dev/null/scratch'
  await assert.rejects(world.run(storing), { code: 'ENOTDIR' })
  assert.equal(requests, 1)
})

it('collect: a video that differs from its request completes with a warning, on the task and in the timeline', async () => {
  const world = await makeWorld(collect)
  world.tools.media.verify = async () => ({
    seconds: 5.041667,
    size: { width: 832, height: 480 },
    frameRate: 16,
    codec: 'h264',
  })
  const { decision, after } = await world.run({ ...storing, seconds: 8, size: { width: 1280, height: 720 } })
  const warnings = [
    '`seconds` was 8; the provider generated 5.04 s.',
    '`size` was 1280x720; the provider generated 832x480.',
  ]
  assert.deepEqual([after?.state, after?.warnings], ['completed', warnings])
  assert.deepEqual([after?.seconds, after?.videoFacts?.duration], [8, 5.041667])
  assert.deepEqual('change' in decision && decision.note, ['warning', warnings.join(' ')])
})

it('collect: a difference that the card allows is no warning', async () => {
  const world = await makeWorld(collect)
  const asset = { key: 'k', bytes: 1, sha256: '' }
  const image: TaskImage = { asset, type: 'image/png', size: { width: 500, height: 1000 } }
  world.tools.media.verify = async () => ({
    seconds: 4.0625,
    size: { width: 720, height: 1440 },
    frameRate: 16,
    codec: 'h264',
  })
  const { after } = await world.run({ ...storing, size: { width: 1280, height: 720 }, image })
  assert.deepEqual([after?.state, after?.warnings], ['completed', []])
})

const film = () => new Response('bytes', { headers: { 'content-length': '5' } })
const from = (url: string, response: Response) => Object.defineProperty(response, 'url', { value: url })

it('collect: a video that came over TLS with its length, or from this machine, is verified smartly, and any other fully', async () => {
  const world = await makeWorld(collect)
  const modes: unknown[] = []
  world.tools.media.verify = async (_path, _owner, _signal, how) => {
    modes.push(how?.mode)
    return { seconds: 4, size: { width: 2, height: 2 }, frameRate: 24, codec: 'h264' }
  }
  const answers = [
    () => from('https://host.example/film', film()),
    () => from('https://host.example/film', new Response('bytes')),
    () => from('http://host.example/film', film()),
    film,
  ]
  const account = world.tools.accounts.get('p') ?? assert.fail()
  const runAll = async (changes: Partial<Account> = {}) => {
    world.tools.accounts = new Map([['p', { ...account, ...changes }]])
    for (const answer of answers) {
      world.answers.download = async () => answer()
      await world.run(storing)
    }
    return modes.splice(0)
  }
  assert.deepEqual(await runAll(), ['smart', 'full', 'full', 'full'])
  assert.deepEqual(await runAll({ verify: 'full' }), ['full', 'full', 'full', 'full'])
  assert.deepEqual(await runAll({ verify: 'smart' }), ['smart', 'smart', 'smart', 'smart'])
  assert.deepEqual(await runAll({ upstream: null }), ['smart', 'full', 'smart', 'smart'])
})

it('collect: the limits of its model bound what is decoded', async () => {
  const world = await makeWorld(collect)
  world.tools.media.verify = async (_path, _owner, _signal, how) => {
    assert.deepEqual(how?.limits, { pixels: 3840 * 2160, seconds: 600, frames: 72_000 })
    return { seconds: 4, size: { width: 2, height: 2 }, frameRate: 24, codec: 'h264' }
  }
  assert.equal((await world.run(storing)).after?.state, 'completed')
})

it('collect: a video that looks black or frozen completes with a warning', async () => {
  const world = await makeWorld(collect)
  const facts = { seconds: 4, size: { width: 2, height: 2 }, frameRate: 24, codec: 'h264' }
  for (const [looks, warning] of [
    ['black', 'The video looks black in every frame that was checked.'],
    ['frozen', 'The video looks frozen: every frame that was checked shows the same picture.'],
  ] as const) {
    world.tools.media.verify = async () => ({ ...facts, looks })
    const { decision, after } = await world.run(storing)
    assert.deepEqual([after?.state, after?.warnings], ['completed', [warning]])
    assert.deepEqual('change' in decision && decision.note, ['warning', warning])
  }
})

it('collect: a file that can not be opened fails the action, and does not end the process', async () => {
  const world = await makeWorld(collect)
  const { verify } = world.tools.media
  world.tools.media.verify = async (path, ...rest) => {
    await rm(path)
    return verify(path, ...rest)
  }
  // As of a bucket that can't take the file itself: it is opened and read.
  world.tools.bucket.adopt = async () => false
  await assert.rejects(world.run(storing), { code: 'ENOENT' })
})

it('collect: a decoder that the machine killed does not fail the video, which waits until its deadline', async () => {
  const world = await makeWorld(collect)
  const killed = new Problem('overloaded', 'too busy', { cause: new Error('SIGKILL'), retryable: true })
  world.tools.media.verify = async () => {
    throw killed
  }
  // At this age, a video that does not play has failed.
  await assert.rejects(world.run({ ...storing, missingAt: 1 }), killed)
  const tried = { ...storing, tries: 1_000 }
  assert.equal(nextTry(killed, tried, tried.finishBy - 60_000, 0.5)?.delayMs, 30_000)
  assert.equal(nextTry(killed, tried, tried.finishBy, 0.5), null)
})
