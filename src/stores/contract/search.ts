import assert from 'node:assert/strict'
import { it } from 'node:test'
import { firstIdAt, type Task } from '../../core/task.ts'
import type { Store, TaskSearch } from '../store.ts'
import { fresh, ids, newTask, type StoreWorld } from './world.ts'

/** Steps until there are no more tasks. */
async function searchAll(store: Store, search: Partial<TaskSearch>, limit = 100): Promise<Task[]> {
  const found: Task[] = []
  let next: string | null = '\u{10ffff}'
  while (next !== null) {
    const step = await store.search({ isDeleted: false, ...search }, { after: next, limit })
    assert.ok(step.tasks.length <= limit)
    found.push(...step.tasks)
    next = step.next
  }
  return found
}

const error = { code: 'generation_failed', message: 'not "code":"timeout"' } as const

/** The search of operators. */
export function testSearch(world: StoreWorld): void {
  it('finds tasks of all owners by each condition and by all of them, the newest first', async () => {
    await using store = await fresh(world)
    const tasks = {
      red: newTask('1', { prompt: 'A red FOX, "50 %" _', model: 'alias', card: 'own' }),
      blue: newTask('2', { prompt: 'ein blauer Füchs', owner: 'bob', token: 'tok_1', account: 'p' }),
      failed: newTask('3', { prompt: 'a dog', owner: 'bob', state: 'failed', error }),
      running: newTask('4', { prompt: 'a cat', state: 'running', startedAt: 7, account: 'q' }),
      deleted: newTask('5', { prompt: 'a fox', owner: 'bob', deletedAt: 9 }),
    }
    await Promise.all(Object.values(tasks).map((task) => store.insert(task)))
    const names = new Map(Object.entries(tasks).map(([name, { id }]) => [id, name]))
    const found = async (search: Partial<TaskSearch>) =>
      (await searchAll(store, search)).map(({ id }) => names.get(id)).join(' ')
    assert.equal(await found({}), 'running failed blue red')
    assert.equal(await found({ isDeleted: true }), 'deleted')
    assert.equal(await found({ isDeleted: true, owner: 'alice' }), '')
    assert.equal(await found({ owner: 'bob' }), 'failed blue')
    assert.equal(await found({ status: 'queued' }), 'blue red')
    assert.equal(await found({ status: 'in_progress' }), 'running')
    assert.equal(await found({ state: 'failed' }), 'failed')
    assert.equal(await found({ model: 'alias' }), 'red')
    assert.equal(await found({ model: 'own' }), 'red')
    assert.equal(await found({ account: 'q' }), 'running')
    assert.equal(await found({ token: 'tok_1' }), 'blue')
    assert.equal(await found({ token: 'tok_1', owner: 'alice' }), '')
    assert.equal(await found({ errorCode: 'generation_failed' }), 'failed')
    assert.equal(await found({ errorCode: 'timeout' }), '')
    assert.equal(await found({ errorCode: '%' }), '')
    assert.equal(await found({ text: 'fox' }), 'red')
    assert.equal(await found({ text: 'RED fox, "50 %" _' }), 'red')
    assert.equal(await found({ text: 'füchs' }), 'blue')
    assert.equal(await found({ text: 'FÜCHS' }), '')
    assert.equal(await found({ text: '%' }), 'red')
    assert.equal(await found({ owner: 'bob', status: 'failed', text: 'dog' }), 'failed')
    assert.equal(await found({ owner: 'bob', status: 'failed', text: 'fox' }), '')
  })

  it('finds tasks by the time of their creation', async () => {
    await using store = await fresh(world)
    const at = (ms: number) => newTask('', { id: `${firstIdAt(ms)}${'7'.repeat(36)}`, createdAt: ms })
    const [first, second, third] = [at(1_000), at(2_000), at(3_000)]
    await Promise.all([first, second, third].map((task) => store.insert(task)))
    assert.deepEqual(ids(await searchAll(store, { createdSince: 2_000 })), ids([third, second]))
    assert.deepEqual(ids(await searchAll(store, { createdBefore: 2_000 })), ids([first]))
    assert.deepEqual(ids(await searchAll(store, { createdSince: 1_001, createdBefore: 3_000 })), ids([second]))
    const owned = { owner: 'alice', createdSince: 1_001, createdBefore: 3_000 }
    assert.deepEqual(ids(await searchAll(store, owned)), ids([second]))
  })

  it('finds each task once, in steps of any size, also a rare one among thousands', async () => {
    await using store = await fresh(world)
    const numbers = Array.from({ length: 4_500 }, (_, at) => String(at))
    const isRare = (number: string) => Number(number) % 1_500 === 3
    await Promise.all(
      numbers.map((number) =>
        store.insert(newTask(number, isRare(number) ? { prompt: 'a rare fox', owner: 'bob' } : {})),
      ),
    )
    const rare = numbers.filter(isRare).map((number) => newTask(number).id)
    const newestFirst = rare.sort().reverse()
    assert.equal(rare.length, 3)
    for (const search of [{ text: 'rare' }, { owner: 'bob' }, { owner: 'bob', text: 'rare' }])
      for (const limit of [1, 2, 100]) assert.deepEqual(ids(await searchAll(store, search, limit)), newestFirst)
    assert.equal((await searchAll(store, {}, 999)).length, numbers.length)
  })
}
