import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { it } from 'node:test'
import { Problem } from '../core/problem.ts'
import { queueTask, type Task } from '../core/task.ts'
import { nextTry } from '../core/timing.ts'
import { collect } from './collect.ts'
import { makeWorld } from './contract.ts'

const storing: Task = {
  ...queueTask(
    {
      ...{ id: 'video_1', owner: 'o', model: 'm', card: 'm', prompt: 'x', parameters: {}, image: null, digest: 0 },
      ...{ seconds: 4, size: { width: 2, height: 2 }, startBy: 9e12, finishBy: 9e12 },
    },
    900_000,
  ),
  ...{
    state: 'storing',
    account: 'p',
    attempt: 'att_1',
    attempts: 1,
    startedAt: 900_000,
    operation: 'op',
    output: 'o',
  },
}

it('collect: a file that can not be opened is a problem of its task, not the end of the process', async () => {
  const world = await makeWorld(collect)
  const { verify } = world.tools.media
  world.tools.media.verify = async (path, signal) => {
    await rm(path)
    return verify(path, signal)
  }
  const { put } = world.tools.bucket
  world.tools.bucket.put = async (key, body, signal) => {
    // A bucket may have to do something first; nobody listens to the stream meanwhile.
    await readdir(world.tools.scratch)
    return put(key, body, signal)
  }
  await assert.rejects(world.run(storing), { code: 'ENOENT' })
})

it('collect: a video is not to blame for what the machine did to who looked at it, and waits until its deadline', async () => {
  const world = await makeWorld(collect)
  const killed = new Problem('overloaded', 'too busy', { cause: new Error('SIGKILL'), retryable: true })
  world.tools.media.verify = async () => {
    throw killed
  }
  // Long after a video that does not play would have failed.
  await assert.rejects(world.run({ ...storing, missingAt: 1 }), killed)
  const tried = { ...storing, tries: 1_000 }
  assert.equal(nextTry(killed, tried, tried.finishBy - 60_000, 0.5)?.delayMs, 30_000)
  assert.equal(nextTry(killed, tried, tried.finishBy, 0.5), null)
})
