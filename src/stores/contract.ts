import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Task } from '../core/task.ts'
import type { Store } from './store.ts'

/** What every store must do. `open` gives a store on the data of the last one, `wipe` an empty one. */
export function testStore(name: string, world: { open(): Promise<Store>; wipe(): Promise<void> }): void {
  const fresh = async () => {
    await world.wipe()
    return world.open()
  }

  describe(`the ${name} store`, () => {
    it('gives a task back as it was inserted, also after it was opened anew', async () => {
      const task = newTask('1', { prompt: 'ein „Fuchs“ 🦊\n', image: { url: 'https://example.com/a.png' } })
      {
        await using store = await fresh()
        await store.insert(task)
        assert.deepEqual(await store.read('alice', task.id), task)
      }
      await using store = await world.open()
      assert.deepEqual(await store.read('alice', task.id), task)
    })

    it('shows a task to its owner alone', async () => {
      await using store = await fresh()
      await store.insert(newTask('1'))
      assert.equal(await store.read('bob', newTask('1').id), undefined)
      assert.equal(await store.read('alice', newTask('2').id), undefined)
    })

    it('refuses a second task of the same id and keeps the first, and the others of its batch', async () => {
      await using store = await fresh()
      await store.insert(newTask('1', { prompt: 'first' }))
      const results = await Promise.allSettled([
        store.insert(newTask('2')),
        store.insert(newTask('1', { prompt: 'second' })),
        store.insert(newTask('3')),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.equal((await store.read('alice', newTask('1').id))?.prompt, 'first')
      assert.ok(await store.read('alice', newTask('3').id))
    })

    it('claims what is due, oldest first, each task once', async () => {
      await using store = await fresh()
      for (const [id, dueAt] of [
        ['1', 300],
        ['2', 100],
        ['3', 200],
        ['4', 900],
      ] as const)
        await store.insert(newTask(id, { dueAt }))
      const wanted = { state: 'queued', now: 500, leaseUntil: 1_000 } as const
      const [first, second] = await Promise.all([
        store.claim({ ...wanted, limit: 2 }),
        store.claim({ ...wanted, limit: 2 }),
      ])
      assert.deepEqual(ids(first).sort(), ids([newTask('2'), newTask('3')]).sort())
      assert.deepEqual(ids(second), ids([newTask('1')]))
      assert.equal(first[0]?.fence, 1)
    })

    it('claims no more than the cap leaves room for, running tasks and those being submitted included', async () => {
      await using store = await fresh()
      for (const id of ['1', '2', '3', '4']) await store.insert(newTask(id))
      await store.insert(newTask('5', { provider: 'other' }))
      await store.insert(newTask('6', { state: 'running', dueAt: 900 }))
      const wanted = { state: 'queued', provider: 'p', limit: 10, cap: 3, now: 10, leaseUntil: 100 } as const
      assert.equal((await store.claim(wanted)).length, 2)
      assert.equal((await store.claim(wanted)).length, 0)
      assert.deepEqual(ids(await store.claim({ ...wanted, provider: 'other' })), ids([newTask('5')]))
    })

    it('hands a task out again when its lease ended, and the old holder can write nothing', async () => {
      await using store = await fresh()
      await store.insert(newTask('1'))
      const [old] = await store.claim({ state: 'queued', limit: 1, now: 10, leaseUntil: 100 })
      assert.deepEqual(await store.claim({ state: 'queued', limit: 1, now: 99, leaseUntil: 200 }), [])
      const [taken] = await store.claim({ state: 'queued', limit: 1, now: 100, leaseUntil: 200 })
      assert.ok(old && taken)
      assert.ok(taken.fence > old.fence)
      assert.equal(await store.record({ ...old, state: 'failed', dueAt: null }), false)
      assert.equal(await store.remove(old), false)
      assert.deepEqual(await store.renew([old, taken], 300), [old])
      assert.equal((await store.read('alice', old.id))?.state, 'queued')
      assert.equal(await store.record({ ...taken, state: 'running', dueAt: 400 }), true)
      assert.equal((await store.read('alice', old.id))?.state, 'running')
    })

    it('gives a lease back with the decision: the same one can write once', async () => {
      await using store = await fresh()
      await store.insert(newTask('1'))
      const [task] = await store.claim({ state: 'queued', limit: 1, now: 10, leaseUntil: 100 })
      assert.ok(task)
      assert.equal(await store.record({ ...task, progress: 5, dueAt: 20 }), true)
      assert.equal(await store.record({ ...task, progress: 9, dueAt: 20 }), false)
      assert.equal((await store.read('alice', task.id))?.progress, 5)
    })

    it('keeps everything that a decision can write', async () => {
      await using store = await fresh()
      await store.insert(newTask('1'))
      const [task] = await store.claim({ state: 'queued', limit: 1, now: 10, leaseUntil: 100 })
      assert.ok(task)
      const asset = { key: 'a/b', bytes: 3, sha256: 'c' }
      const after: Task = {
        ...task,
        state: 'completed',
        progress: 100,
        image: { asset, type: 'image/png', size: { width: 1, height: 2 } },
        startedAt: 1,
        completedAt: 2,
        expiresAt: 3,
        operation: { deep: [1, 'two', null, { three: true }] },
        output: 'text',
        video: asset,
        error: { code: 'internal', message: "it's" },
        dueAt: null,
        tries: 7,
      }
      assert.equal(await store.record(after), true)
      assert.deepEqual(await store.read('alice', task.id), after)
    })

    it('removes a row under its lease', async () => {
      await using store = await fresh()
      await store.insert(newTask('1'))
      const [task] = await store.claim({ state: 'queued', limit: 1, now: 10, leaseUntil: 100 })
      assert.ok(task)
      assert.equal(await store.remove(task), true)
      assert.equal(await store.read('alice', task.id), undefined)
    })

    it('says when the next task of a lane is due, and calls when one may have become so', async () => {
      await using store = await fresh()
      assert.equal(await store.nextDue({ state: 'queued' }), undefined)
      const called = Promise.withResolvers<void>()
      const stop = store.onDue(called.resolve)
      await store.insert(newTask('1', { dueAt: 70 }))
      await called.promise
      stop()
      assert.equal(await store.nextDue({ state: 'queued' }), 70)
      assert.equal(await store.nextDue({ state: 'queued', provider: 'p' }), 70)
      assert.equal(await store.nextDue({ state: 'queued', provider: 'other' }), undefined)
      assert.equal(await store.nextDue({ state: 'running' }), undefined)
    })

    it('keeps tokens', async () => {
      await using store = await fresh()
      await store.insertToken({ name: 'a', digest: 'd', models: ['*'] }, 1)
      assert.deepEqual(await store.tokens(), [{ name: 'a', digest: 'd', models: ['*'] }])
      await assert.rejects(store.insertToken({ name: 'a', digest: 'e', models: [] }, 2))
    })

    it('takes a thousand writes at once, and each is there when its promise resolves', async () => {
      await using store = await fresh()
      const numbers = Array.from({ length: 1000 }, (_, at) => String(at))
      await Promise.all(
        numbers.map(async (number) => {
          await store.insert(newTask(number))
          assert.ok(await store.read('alice', newTask(number).id))
        }),
      )
    })
  })
}

export function newTask(number: string, fields: Partial<Task> = {}): Task {
  return {
    id: `video_${number.padStart(48, '0')}`,
    owner: 'alice',
    model: 'm',
    provider: 'p',
    upstreamModel: 'u',
    prompt: 'a fox',
    seconds: 4,
    size: { width: 1280, height: 720 },
    createdAt: 1,
    image: null,
    state: 'queued',
    progress: 0,
    startedAt: null,
    completedAt: null,
    expiresAt: null,
    operation: null,
    output: null,
    video: null,
    error: null,
    dueAt: 1,
    tries: 0,
    fence: 0,
    ...fields,
  }
}

function ids(tasks: Task[]): string[] {
  return tasks.map(({ id }) => id)
}
