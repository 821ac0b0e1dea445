import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Declaration } from '../../core/declaration.ts'
import { newAuditEntry } from './tokens.ts'
import { decide, fresh, type StoreWorld, sent } from './world.ts'

export function newDeclaration(name: string, fields: Partial<Declaration> = {}): Declaration {
  return {
    kind: 'account',
    name,
    settings: { provider: 'openai', base_url: 'http://engine.test/v1' },
    key: null,
    mode: 'active',
    createdAt: 1,
    changedAt: 1,
    removedAt: null,
    revision: 0,
    ...fields,
  }
}

/** Accounts, models and aliases that operators declare. */
export function testDeclarations(world: StoreWorld): void {
  const all = newDeclaration('acme', {
    settings: { provider: 'ä "b"', concurrency: 3, nested: { list: [1, 2.5, null] } },
    key: 'a key',
    mode: 'draining',
    changedAt: 2,
  })

  it('keeps declarations with all their settings, in the order of their changes', async () => {
    await using store = await fresh(world)
    const others = [newDeclaration('acme', { kind: 'model' }), newDeclaration('x/y:z', { kind: 'alias' })]
    for (const [at, one] of [all, ...others].entries())
      assert.deepEqual(await store.saveDeclaration(one, null), { ...one, revision: at + 1 })
    const stored = [all, ...others].map((one, at) => ({ ...one, revision: at + 1 }))
    assert.deepEqual(await store.declarations(), stored)
    assert.deepEqual(await store.declarations(2), stored.slice(2))
    assert.deepEqual(await store.declarations(3), [])
  })

  it('keeps declarations when it is opened again', async () => {
    {
      await using store = await fresh(world)
      await store.saveDeclaration(all, null)
    }
    await using store = await world.open()
    assert.deepEqual(await store.declarations(), [{ ...all, revision: 1 }])
  })

  it('a name is declared once, and only the first of two changes of the same revision is written', async () => {
    await using store = await fresh(world)
    const written = await Promise.all([1, 2].map(() => store.saveDeclaration(all, newAuditEntry('acme'))))
    const [stored, ...others] = written.filter((one) => one !== undefined)
    assert.ok(stored)
    assert.deepEqual([others, stored.revision], [[], 1])
    await store.saveDeclaration(newDeclaration('another'), null)
    const changes = await Promise.all(
      (['paused', 'active'] as const).map((mode) => store.saveDeclaration({ ...stored, mode }, newAuditEntry('acme'))),
    )
    const [changed, ...refused] = changes.filter((one) => one !== undefined)
    assert.deepEqual([refused, changed?.revision], [[], 3])
    assert.deepEqual(await store.declarations(2), [changed])
    assert.equal((await store.auditLog({ limit: 9 })).length, 2)
  })

  it('a change that was checked before another one is not written', async () => {
    await using store = await fresh(world)
    assert.equal(await store.newestDeclaration(), 0)
    const account = await store.saveDeclaration(all, null, 0)
    assert.ok(account)
    assert.equal(await store.newestDeclaration(), 1)
    // The account is removed while a model of it is declared.
    const written = await Promise.all([
      store.saveDeclaration({ ...account, removedAt: 9 }, newAuditEntry('acme'), 1),
      store.saveDeclaration(newDeclaration('fast', { kind: 'model' }), newAuditEntry('fast'), 1),
    ])
    assert.equal(written.filter((one) => one !== undefined).length, 1)
    assert.equal((await store.declarations(1)).length, 1)
    assert.equal((await store.auditLog({ limit: 9 })).length, 1)
    assert.ok(await store.saveDeclaration(newDeclaration('other', { kind: 'model' }), null, 2))
  })

  it('a removed declaration stays as a row without a key, and its name can be declared again', async () => {
    await using store = await fresh(world)
    const stored = await store.saveDeclaration(all, null)
    assert.ok(stored)
    const removed = await store.saveDeclaration({ ...stored, key: null, removedAt: 9 }, null)
    assert.deepEqual(removed, { ...stored, key: null, removedAt: 9, revision: 2 })
    assert.equal(await store.saveDeclaration(all, null), undefined)
    const again = await store.saveDeclaration({ ...all, revision: 2 }, null)
    assert.deepEqual(again, { ...all, revision: 3 })
  })

  it('counts the unfinished tasks of an account', async () => {
    await using store = await fresh(world)
    const tasks = [await sent(store, '1', 'a1'), await sent(store, '2', 'a2')]
    assert.deepEqual([await store.unfinishedOf('p'), await store.unfinishedOf('q')], [2, 0])
    const [first, second] = tasks
    assert.ok(first && second)
    assert.ok(await store.record(decide(first, { state: 'failed' })))
    assert.ok(await store.record(decide(second, { state: 'running', startedAt: 9 })))
    assert.equal(await store.unfinishedOf('p'), 1)
  })
}
