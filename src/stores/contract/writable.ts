import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fresh, idsOf, newTask, type StoreWorld } from './world.ts'

/** That it throws where nothing can be written is shown where that can be brought about. */
export function testWritable(world: StoreWorld): void {
  it('can be asked whether it can be written, however often, and shows nothing of that', async () => {
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
