import assert from 'node:assert/strict'
import { it } from 'node:test'
import { secretColumns } from '../../core/vault.ts'
import { newEndpoint } from './webhooks.ts'
import { fresh, type StoreWorld } from './world.ts'

const { signing, oldSigning } = secretColumns

/** Secrets as they are in the rows. */
export function testSecrets(world: StoreWorld): void {
  it('lists the secrets that do not begin with a prefix, by their ids, in pages', async () => {
    await using store = await fresh(world)
    const secrets = ['sealed:1:aa:x', 'whsec_A', 'sealed:1:bb:%', 'sealed:1:', 'sealed_1_aa_x']
    for (const [at, secret] of secrets.entries())
      await store.insertEndpoint(newEndpoint(String(at), { secret, owner: `owner ${at}` }), 1)
    const [, ...others] = secrets.map((text, at) => ({ id: newEndpoint(String(at)).id, text }))
    const all = await store.otherSecrets(signing, 'sealed:1:aa:', { after: '', limit: 9 })
    assert.deepEqual(all, others)
    const first = await store.otherSecrets(signing, 'sealed:1:aa:', { after: '', limit: 2 })
    const rest = await store.otherSecrets(signing, 'sealed:1:aa:', { after: first.at(-1)?.id ?? '', limit: 9 })
    assert.deepEqual([...first, ...rest], others)
  })

  it('a secret that does not exist is not listed', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    await store.insertEndpoint(newEndpoint('2', { oldSecret: 'whsec_OLD', oldSecretUntil: 9 }), 9)
    const found = await store.otherSecrets(oldSigning, 'sealed:', { after: '', limit: 9 })
    assert.deepEqual(found, [{ id: newEndpoint('2').id, text: 'whsec_OLD' }])
  })

  it('replaces a secret once, and leaves everything else as it is', async () => {
    await using store = await fresh(world)
    const endpoint = newEndpoint('1', { secret: 'whsec_A', oldSecret: 'whsec_A', oldSecretUntil: 9 })
    await store.insertEndpoint(endpoint, 9)
    const secret = { id: endpoint.id, text: 'whsec_A' }
    const written = await Promise.all(['one', 'other'].map((text) => store.replaceSecret(signing, secret, text)))
    assert.deepEqual(written.toSorted(), [false, true])
    assert.equal(await store.replaceSecret(signing, { ...secret, id: 'whe_none' }, 'x'), false)
    assert.ok(await store.replaceSecret(oldSigning, secret, 'old'))
    const found = await store.endpoint('alice', endpoint.id)
    assert.deepEqual(found, { ...endpoint, secret: written[0] ? 'one' : 'other', oldSecret: 'old' })
  })
}
