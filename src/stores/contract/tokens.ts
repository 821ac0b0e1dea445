import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditEntry } from '../../core/audit.ts'
import { plainFields } from '../../core/token.ts'
import type { NewToken } from '../store.ts'
import { decide, fresh, type StoreWorld, sent } from './world.ts'

export function newToken(number: string, fields: Partial<NewToken> = {}): NewToken {
  return {
    ...plainFields,
    id: `tok_${number.padStart(12, '0')}`,
    kind: 'client',
    name: `token ${number}`,
    digest: `digest ${number}`,
    older: [],
    createdAt: 1,
    changedAt: 1,
    revokedAt: null,
    ...fields,
  }
}

export function newAuditEntry(target: string, fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: 5,
    actor: 'config:operator',
    actorName: 'operator',
    address: '192.0.2.7',
    action: 'token.create',
    target,
    before: null,
    after: { name: 'zwölf "Tokens"', models: ['*'] },
    ...fields,
  }
}

export function testTokens(world: StoreWorld): void {
  const all = newToken('3', {
    kind: 'operator',
    older: [{ digest: 'earlier', until: 9 }],
    project: 'shop "ü"',
    models: ['kling-*', 'studio'],
    rate: 0,
    concurrency: 3,
    ipRanges: ['10.0.0.0/8'],
    expiresAt: 4_000_000_000_000,
    enabled: false,
    role: 'viewer',
    metadata: { team: 'film' },
  })

  it('keeps tokens with all their settings, in the order of their changes', async () => {
    await using store = await fresh(world)
    const [first, second] = [newToken('2'), newToken('1')]
    for (const token of [first, second, all])
      assert.deepEqual(await store.insertToken(token, null), { ...token, revision: (await store.tokens()).length })
    assert.deepEqual(await store.tokens(), [
      { ...first, revision: 1 },
      { ...second, revision: 2 },
      { ...all, revision: 3 },
    ])
    assert.deepEqual(await store.tokens(2), [{ ...all, revision: 3 }])
    assert.deepEqual(await store.tokens(3), [])
  })

  it('keeps tokens and the audit log when it is opened again', async () => {
    {
      await using store = await fresh(world)
      await store.insertToken(all, newAuditEntry(all.id))
    }
    await using store = await world.open()
    assert.deepEqual(await store.tokens(), [{ ...all, revision: 1 }])
    assert.equal((await store.auditLog({ limit: 9 }))[0]?.target, all.id)
  })

  it('a change gets the next revision, and only the first of two changes of the same revision is written', async () => {
    await using store = await fresh(world)
    const token = await store.insertToken(newToken('1'), null)
    await store.insertToken(newToken('2'), null)
    assert.ok(token)
    const changes = await Promise.all([7, 8].map((rate) => store.updateToken({ ...token, rate }, null)))
    const [written, ...others] = changes.filter((change) => change !== undefined)
    assert.ok(written)
    assert.deepEqual([others, written.revision], [[], 3])
    assert.deepEqual(await store.tokens(2), [written])
    assert.equal(await store.updateToken({ ...newToken('9'), revision: 1 }, null), undefined)
    assert.equal((await store.tokens()).length, 2)
  })

  it('a name belongs to one token, until that is revoked', async () => {
    await using store = await fresh(world)
    const first = await store.insertToken(newToken('1', { name: 'anna' }), null)
    const second = await store.insertToken(newToken('2', { name: 'ben' }), null)
    assert.ok(first && second)
    assert.equal(await store.insertToken(newToken('3', { name: 'anna' }), null), undefined)
    assert.equal(await store.updateToken({ ...second, name: 'anna' }, null), undefined)
    const revoked = await store.updateToken({ ...first, revokedAt: 6 }, null)
    assert.equal(revoked?.revokedAt, 6)
    assert.ok(await store.insertToken(newToken('3', { name: 'anna' }), null))
    assert.deepEqual(
      (await store.tokens()).map(({ id, name }) => [id.at(-1), name]),
      [
        ['2', 'ben'],
        ['1', 'anna'],
        ['3', 'anna'],
      ],
    )
  })

  it('writes an entry of the audit log with its change, and none without it', async () => {
    await using store = await fresh(world)
    const token = await store.insertToken(newToken('1'), newAuditEntry('one'))
    assert.ok(token)
    assert.equal(await store.insertToken(newToken('2', { name: token.name }), newAuditEntry('never')), undefined)
    assert.equal(await store.updateToken({ ...token, revision: 9 }, newAuditEntry('never')), undefined)
    const change = newAuditEntry('two', { action: 'token.change', before: { rate: null }, after: { rate: 5 } })
    await store.updateToken({ ...token, rate: 5 }, change)
    await store.appendAudit(newAuditEntry('three', { after: null }))
    const log = await store.auditLog({ limit: 9 })
    assert.deepEqual(
      log.map(({ number: _, ...entry }) => entry),
      [newAuditEntry('three', { after: null }), change, newAuditEntry('one')],
    )
    const numbers = log.map(({ number }) => number)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => b - a),
    )
    const page = await store.auditLog({ after: log[0]?.number ?? 0, limit: 1 })
    assert.deepEqual(page, [log[1]])
  })

  it('writes the entry of a decision about a task with the decision, and none if the lease is lost', async () => {
    await using store = await fresh(world)
    const held = await sent(store, '1', 'a1')
    const audit = newAuditEntry(held.id, {
      action: 'task.give_up',
      before: { state: 'held' },
      after: { state: 'failed' },
    })
    assert.ok(!(await store.record(decide({ ...held, fence: held.fence + 1 }, { state: 'failed' }, { audit }))))
    assert.deepEqual(await store.auditLog({ limit: 9 }), [])
    assert.ok(await store.record(decide(held, { state: 'failed' }, { audit })))
    assert.deepEqual(
      (await store.auditLog({ limit: 9 })).map(({ number: _, ...entry }) => entry),
      [audit],
    )
  })

  it('a code is used once, and forgotten when it has expired', async () => {
    await using store = await fresh(world)
    const uses = await Promise.all([1, 2, 3].map(() => store.useCode('one', 100, 5)))
    assert.deepEqual(uses.toSorted(), [false, false, true])
    assert.equal(await store.useCode('another', 101, 99), true)
    assert.equal(await store.useCode('one', 100, 99), false)
    await store.useCode('a third', 200, 100)
    assert.deepEqual(await Promise.all(['one', 'another'].map((code) => store.useCode(code, 200, 100))), [true, false])
  })

  it('creates many tokens at once, each with its own revision', async () => {
    await using store = await fresh(world)
    const tokens = Array.from({ length: 20 }, (_, at) => newToken(String(at)))
    await Promise.all(tokens.map((token) => store.insertToken(token, newAuditEntry(token.id))))
    const revisions = (await store.tokens()).map(({ revision }) => revision)
    assert.deepEqual(
      revisions,
      tokens.map((_, at) => at + 1),
    )
    assert.equal((await store.auditLog({ limit: 99 })).length, 20)
  })
}
