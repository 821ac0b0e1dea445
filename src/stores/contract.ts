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
        assert.deepEqual(await store.find(task.id), task)
      }
      await using store = await world.open()
      assert.deepEqual(await store.find(task.id), task)
      assert.equal((await store.read('alice', task.id))?.prompt, task.prompt)
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
      assert.deepEqual(await store.find(task.id), after)
      const view = await store.read('alice', task.id)
      assert.deepEqual(
        view,
        Object.fromEntries(Object.keys(view ?? {}).map((name) => [name, after[name as keyof Task]])),
      )
    })

    it('removes a row under its lease', async () => {
      await using store = await fresh()
      await store.insert(newTask('1'))
      const [task] = await store.claim({ state: 'queued', limit: 1, now: 10, leaseUntil: 100 })
      assert.ok(task)
      assert.equal(await store.remove(task), true)
      assert.equal(await store.read('alice', task.id), undefined)
    })

    it("lists an owner's tasks by id, from any place, in either order", async () => {
      await using store = await fresh()
      for (const number of ['3', '1', '5', '2']) await store.insert(newTask(number))
      await store.insert(newTask('4', { owner: 'bob' }))
      const list = async (page: Parameters<Store['list']>[1]) =>
        (await store.list('alice', page)).map(({ id }) => Number(id.slice(6)))
      assert.deepEqual(await list({ limit: 10, order: 'desc' }), [5, 3, 2, 1])
      assert.deepEqual(await list({ limit: 2, order: 'asc' }), [1, 2])
      assert.deepEqual(await list({ limit: 2, order: 'asc', after: newTask('2').id }), [3, 5])
      assert.deepEqual(await list({ limit: 9, order: 'desc', after: newTask('4').id }), [3, 2, 1])
      assert.deepEqual(await list({ limit: 9, order: 'asc', after: 'zzz' }), [])
      assert.deepEqual(await list({ limit: 0, order: 'asc' }), [])
    })

    it('hides a deleted task from its owner at once, and makes it due whatever is decided meanwhile', async () => {
      await using store = await fresh()
      for (const number of ['1', '2']) await store.insert(newTask(number, { dueAt: 500 }))
      const { id } = newTask('1')
      assert.equal(await store.delete('bob', id, 10), false)
      const [leased] = await store.claim({ state: 'queued', limit: 1, now: 500, leaseUntil: 1_000 })
      assert.equal(leased?.id, id)
      assert.equal(await store.delete('alice', id, 600), true)
      assert.equal(await store.delete('alice', id, 600), false)
      assert.equal(await store.read('alice', id), undefined)
      assert.equal((await store.find(id))?.deletedAt, 600)
      assert.equal((await store.list('alice', { limit: 9, order: 'asc' })).length, 1)
      assert.ok(leased && (await store.record({ ...leased, dueAt: 1e9 })))
      const [deleted] = await store.claim({ state: 'queued', limit: 1, now: 600, leaseUntil: 1_000 })
      assert.deepEqual([deleted?.id, deleted?.deletedAt], [id, 600])
      assert.ok(deleted && (await store.remove(deleted)))
    })

    it('makes due what a clock that was set back left in a far future, but nothing that is held or finished', async () => {
      await using store = await fresh()
      const late = 10_000_000
      await store.insert(newTask('1', { dueAt: late }))
      await store.insert(newTask('2', { dueAt: late, state: 'running' }))
      await store.insert(newTask('3', { dueAt: late, state: 'completed' }))
      await store.insert(newTask('4', { dueAt: 1 }))
      await store.claim({ state: 'queued', limit: 1, now: 1, leaseUntil: late })
      await store.recover(50)
      const dues = await Promise.all(
        ['1', '2', '3', '4'].map(async (number) => (await store.find(newTask(number).id))?.dueAt),
      )
      assert.deepEqual(dues, [50, 50, late, late])
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
      for (const name of ['a', 'a', 'never']) await store.deleteToken(name)
      assert.deepEqual(await store.tokens(), [])
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
    parameters: {},
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
    deletedAt: null,
    ...fields,
  }
}

function ids(tasks: Task[]): string[] {
  return tasks.map(({ id }) => id)
}
