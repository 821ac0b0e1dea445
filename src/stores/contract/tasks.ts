import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Health, healthy } from '../../core/health.ts'
import { newTaskId, type Task } from '../../core/task.ts'
import type { Page, Store } from '../store.ts'
import { decide, fresh, idsOf, newTask, type StoreWorld, take, taken } from './world.ts'

/** Tasks as clients and operators see them. */
export function testTasks(world: StoreWorld): void {
  testRows(world)
  testOwners(world)
  testQuestions(world)
}

function testRows(world: StoreWorld): void {
  it('returns a task as it was inserted, also after the store was opened again', async () => {
    const task = newTask('1', { prompt: 'ein „Fuchs“ 🦊\n', image: { url: 'https://example.com/a.png' }, tried: ['q'] })
    {
      await using store = await fresh(world)
      await store.insert(task)
      assert.deepEqual(await store.find(task.id), task)
    }
    await using store = await world.open()
    assert.deepEqual(await store.find(task.id), task)
    assert.equal((await store.read('alice', task.id))?.prompt, task.prompt)
  })

  it('refuses a second task with the same id, and keeps the first and the others of its batch', async () => {
    await using store = await fresh(world)
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

  it('keeps all fields of tasks that are inserted at once, whatever columns the others fill', async () => {
    await using store = await fresh(world)
    const tasks = [
      newTask('1', { idempotencyKey: 'k', image: { url: 'https://example.com/a.png' } }),
      newTask('2', { state: 'running', startedAt: 7, operation: { job: 'a' }, tried: ['q'] }),
      newTask('3'),
    ]
    await Promise.all(tasks.map((task) => store.insert(task)))
    assert.deepEqual(await Promise.all(tasks.map(({ id }) => store.find(id))), tasks)
  })

  it('keeps the facts of a completed video beside the requested values, and its warnings', async () => {
    await using store = await fresh(world)
    const videoFacts = { width: 832, height: 480, duration: 5.041667, frameRate: 23.976, codec: 'h264', bytes: 7 }
    const warnings = ['`seconds` was 8; the provider generated 5.04 s.', 'ein „zweiter“ Satz']
    const { id, size } = newTask('1')
    const unfinished = await taken(store, '1', { seconds: 8 })
    const before = await store.read('alice', id)
    assert.deepEqual([before?.videoFacts, before?.warnings], [null, []])
    const times = { completedAt: 20, expiresAt: 30 }
    assert.ok(await store.record(decide(unfinished, { state: 'completed', videoFacts, warnings, ...times })))
    const listed = await store.list('alice', { limit: 9, order: 'asc' })
    const filtered = await store.list('alice', { limit: 9, order: 'asc', status: 'completed' })
    for (const view of [await store.read('alice', id), await store.find(id), ...listed, ...filtered]) {
      assert.deepEqual([view?.videoFacts, view?.warnings], [videoFacts, warnings])
      assert.deepEqual([view?.seconds, view?.size], [8, size])
    }
    assert.deepEqual([listed.length, filtered.length], [1, 1])
  })

  it('keeps the metadata of a client with its video', async () => {
    await using store = await fresh(world)
    const metadata = { job: 'ein „Auftrag“ \0 \ud83e', frames: 7, final: true }
    const [kept, plain] = [newTask('1', { metadata }), newTask('2')]
    await Promise.all([kept, plain].map((task) => store.insert(task)))
    const page = { limit: 9, order: 'asc' } as const
    for (const found of [await store.list('alice', page), await store.list('alice', { ...page, status: 'queued' })])
      assert.deepEqual(
        found.map((view) => view.metadata),
        [metadata, null],
      )
    for (const { id } of [kept, plain])
      assert.deepEqual((await store.read('alice', id))?.metadata, (await store.find(id))?.metadata)
  })

  it('keeps the trace of a task when the task changes', async () => {
    await using store = await fresh(world)
    const trace = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01 ${'ef'.repeat(8)}`
    const leased = await taken(store, '1', { trace })
    assert.equal(leased.trace, trace)
    assert.ok(await store.record(decide(leased, { state: 'failed' })))
    await store.insert(newTask('2'))
    const found = await Promise.all(['1', '2'].map((number) => store.find(newTask(number).id)))
    assert.deepEqual(
      found.map((task) => task?.trace),
      [trace, null],
    )
  })

  it('accepts a thousand writes at once, and each is stored when its promise resolves', async () => {
    await using store = await fresh(world)
    const numbers = Array.from({ length: 1000 }, (_, at) => String(at))
    await Promise.all(
      numbers.map(async (number) => {
        await store.insert(newTask(number))
        assert.ok(await store.read('alice', newTask(number).id))
      }),
    )
  })
}

function testOwners(world: StoreWorld): void {
  it('shows a task to its owner alone', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1'))
    assert.equal(await store.read('bob', newTask('1').id), undefined)
    assert.equal(await store.read('alice', newTask('2').id), undefined)
  })

  it("lists an owner's tasks by id, from any position, in either order", async () => {
    await using store = await fresh(world)
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

  it('lists tasks of one status or of one model, from any position', async () => {
    await using store = await fresh(world)
    const started = { startedAt: 5 }
    const made = [
      ['1', { state: 'fetching' }],
      ['2', { state: 'queued', model: 'n' }],
      ['3', { state: 'running', ...started }],
      ['4', { state: 'queued', ...started }],
      ['5', { state: 'completed', ...started, model: 'n' }],
      ['6', { state: 'failed' }],
      ['7', { state: 'failed', owner: 'bob' }],
    ] as const
    for (const [number, fields] of made) await store.insert(newTask(number, fields))
    const list = async (page: Omit<Parameters<Store['list']>[1], 'limit' | 'order'>) =>
      (await store.list('alice', { limit: 10, order: 'asc', ...page })).map(({ id }) => Number(id.slice(6)))
    assert.deepEqual(await list({ status: 'queued' }), [1, 2])
    assert.deepEqual(await list({ status: 'in_progress' }), [3, 4])
    assert.deepEqual(await list({ status: 'completed' }), [5])
    assert.deepEqual(await list({ status: 'failed' }), [6])
    assert.deepEqual(await list({ model: 'n' }), [2, 5])
    assert.deepEqual(await list({ model: 'n', status: 'queued' }), [2])
    assert.deepEqual(await list({ model: 'n', after: newTask('2').id }), [5])
    assert.deepEqual(await list({ model: 'x' }), [])
    const newest = await store.list('alice', { limit: 1, order: 'desc', model: 'n', after: newTask('5').id })
    assert.deepEqual(
      newest.map(({ id }) => Number(id.slice(6))),
      [2],
    )
  })

  it('finds the few that match among many', async () => {
    await using store = await fresh(world)
    const numbers = Array.from({ length: 4_500 }, (_, at) => at + 1)
    const isRare = (number: number) => number % 1_000 === 0
    const insert = (number: number) => store.insert(newTask(String(number), { model: isRare(number) ? 'rare' : 'm' }))
    // Few at once, because a store gives up on inserts that wait for a second.
    for (let from = 0; from < numbers.length; from += 500)
      await Promise.all(numbers.slice(from, from + 500).map(insert))
    const list = async (page: Parameters<Store['list']>[1]) =>
      (await store.list('alice', page)).map(({ id }) => Number(id.slice(6)))
    assert.deepEqual(await list({ limit: 10, order: 'asc', model: 'rare' }), [1000, 2000, 3000, 4000])
    assert.deepEqual(await list({ limit: 3, order: 'desc', model: 'rare' }), [4000, 3000, 2000])
    assert.deepEqual(await list({ limit: 3, order: 'desc', model: 'rare', after: newTask('2000').id }), [1000])
  })

  it('ends a page after the task whose prompt makes it long enough', async () => {
    await using store = await fresh(world)
    const prompts = ['a', '狐'.repeat(100), 'b'.repeat(299), 'c', 'd'.repeat(1_000)]
    for (const [at, prompt] of prompts.entries()) await store.insert(newTask(String(at + 1), { prompt }))
    for (const filter of [{}, { model: newTask('1').model }]) {
      const list = async (page: Pick<Page, 'order' | 'enoughBytes' | 'after'>) =>
        (await store.list('alice', { limit: 4, ...filter, ...page })).map(({ id }) => Number(id.slice(6)))
      assert.deepEqual(await list({ order: 'asc', enoughBytes: 301 }), [1, 2])
      assert.deepEqual(await list({ order: 'asc', enoughBytes: 302 }), [1, 2, 3])
      assert.deepEqual(await list({ order: 'asc', enoughBytes: 302, after: newTask('2').id }), [3, 4, 5])
      assert.deepEqual(await list({ order: 'desc', enoughBytes: 1 }), [5])
      assert.deepEqual(await list({ order: 'desc', enoughBytes: 9_999 }), [5, 4, 3, 2])
    }
  })

  it('hides a deleted task from its owner at once, and makes it due whatever is decided meanwhile', async () => {
    await using store = await fresh(world)
    for (const number of ['1', '2']) await store.insert(newTask(number, { dueAt: 500 }))
    const { id } = newTask('1')
    assert.equal(await store.delete('bob', id, 10), false)
    const [leased] = await take(store, { limit: 1, now: 500, leaseUntil: 1_000 })
    assert.equal(leased?.id, id)
    assert.equal(await store.delete('alice', id, 600), true)
    assert.equal(await store.delete('alice', id, 600), false)
    assert.equal(await store.read('alice', id), undefined)
    assert.equal((await store.find(id))?.deletedAt, 600)
    assert.equal((await store.list('alice', { limit: 9, order: 'asc' })).length, 1)
    assert.ok(leased && (await store.record(decide(leased, { dueAt: 1e9 }))))
    const [deleted] = await store.claim({ state: 'overdue', limit: 1, now: 600, leaseUntil: 1_000 })
    assert.deepEqual([deleted?.id, deleted?.deletedAt], [id, 600])
    assert.ok(deleted && (await store.remove(deleted)))
  })

  it('makes a deleted task due in its lane, even if it had to wait', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { state: 'running', account: 'p', dueAt: 1e9 }))
    const lane = { state: 'running', account: 'p' } as const
    assert.ok(await store.delete('alice', newTask('1').id, 50))
    const [deleted] = await store.claim({ ...lane, limit: 1, now: 50, leaseUntil: 100 })
    assert.ok(await store.delete('alice', newTask('1').id, 60).then((hidden) => !hidden))
    // A process that knows of the deletion decides when it is due again.
    assert.ok(deleted && (await store.record(decide(deleted, { dueAt: 90 }))))
    assert.deepEqual(await store.nextDue([lane]), [90])
  })
}

function testQuestions(world: StoreWorld): void {
  it('finds the repeats of a request since a time, the newest first, but no deleted ones and none of another owner', async () => {
    await using store = await fresh(world)
    const idAt = (now: number) => newTaskId(now, (bytes) => new Uint8Array(bytes))
    const make = (now: number, fields: Partial<Task> = {}) =>
      store.insert(newTask('0', { id: idAt(now), createdAt: now, digest: 7, ...fields }))
    for (const now of [1_000, 2_000, 3_000, 4_000]) await make(now)
    await make(2_500, { digest: 8 })
    await make(2_600, { owner: 'bob' })
    await store.delete('alice', idAt(3_000), 5_000)
    assert.deepEqual(await store.repeats('alice', 7, 2_000), [idAt(4_000), idAt(2_000)])
    assert.deepEqual(await store.repeats('bob', 7, 0), [idAt(2_600)])
    assert.deepEqual(await store.repeats('alice', 9, 0), [])
  })

  it('names the accounts that unfinished tasks are pinned to', async () => {
    await using store = await fresh(world)
    const states = ['held', 'running', 'storing', 'running', 'queued', 'completed', 'failed', 'running'] as const
    const accounts = ['a', 'b', 'c', 'b', 'd', 'e', 'f', null]
    for (const [at, state] of states.entries())
      await store.insert(newTask(String(at), { state, account: accounts[at] ?? null }))
    assert.deepEqual((await store.accountsInUse()).sort(), ['a', 'b', 'c'])
  })

  it('says how long the completed tasks of each card took, in the order of their creation', async () => {
    await using store = await fresh(world)
    const make = (number: string, card: string, startedAt: number | null, completedAt: number | null) =>
      store.insert(newTask(number, { card, startedAt, completedAt, state: completedAt ? 'completed' : 'running' }))
    await make('1', 'm', 100, 130)
    await make('2', 'm', 100, 120)
    await make('3', 'n', 100, 101)
    await make('4', 'n', 100, null)
    await make('5', 'n', null, 100)
    assert.deepEqual(
      await store.durations(),
      new Map([
        ['m', [30, 20]],
        ['n', [1]],
      ]),
    )
  })

  it('keeps the health of accounts, and ignores older reports', async () => {
    await using store = await fresh(world)
    const paused = { failures: 1, pausedUntil: 900, reason: 'busy' } as const
    const news = (account: string, changedAt: number, health: Health = healthy) =>
      store.saveHealth({ account, keyVersion: 'k', health, changedAt })
    await news('p', 20, paused)
    await news('q', 10)
    await news('p', 19)
    const found = await store.healths()
    assert.deepEqual(found, [
      { account: 'p', keyVersion: 'k', health: paused, changedAt: 20 },
      { account: 'q', keyVersion: 'k', health: healthy, changedAt: 10 },
    ])
    await news('p', 21)
    assert.deepEqual((await store.healths())[0]?.health, healthy)
    assert.equal(await store.trimHealths(['p', 'q', 'gone'], 21), 1)
    assert.deepEqual(
      (await store.healths()).map(({ account }) => account),
      ['p'],
    )
  })

  // That it throws on a full or broken disk is shown by tests of the whole service.
  it('checks whether it can be written, any number of times, and leaves no trace', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1'))
    await Promise.all(Array.from({ length: 20 }, () => store.checkWritable()))
    assert.deepEqual(await store.healths(), [])
    assert.deepEqual(
      (await store.list('alice', { limit: 9, order: 'asc' })).map(({ id }) => id),
      idsOf('1'),
    )
    assert.deepEqual(await store.noticeRange(), { first: 0, last: 0 })
  })
}
