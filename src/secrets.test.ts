import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openVault, readSecretKeys, type SecretKeys, sealedWith } from './core/vault.ts'
import { renewSecrets } from './secrets/renew.ts'
import { openSecretKeys, withSealedSecrets } from './secrets.ts'
import { newDeclaration } from './stores/contract/declarations.ts'
import { newEndpoint } from './stores/contract/webhooks.ts'
import { openSqlite } from './stores/sqlite.ts'
import type { Store } from './stores/store.ts'

const root = mkdtempSync(join(tmpdir(), 'filmgate-secrets-'))
after(() => rmSync(root, { recursive: true }))
const random = (count: number) => randomBytes(count)
const openStore = () => openSqlite({ folder: mkdtempSync(join(root, 'store-')), now: 0, onFatal: assert.ifError })

/** Keys of a setting. */
function keysOf(...texts: string[]): SecretKeys {
  return openSecretKeys({ given: readSecretKeys(texts.join()) ?? [], file: null, random })
}
const newKey = () => randomBytes(32).toString('base64')

function sealed(store: Store, keys: SecretKeys, warn: (event: string, fields: object) => void = assert.fail): Store {
  return withSealedSecrets(store, { vault: openVault(keys, random), warn })
}

/** The secrets in the row of an endpoint. */
async function rowOf(store: Store, number: string): Promise<[string, string | null]> {
  const { secret, oldSecret } = (await store.endpoint('alice', newEndpoint(number).id)) ?? assert.fail('it is gone')
  return [secret, oldSecret]
}

/** What a start with these keys logs. */
async function renew(store: Store, keys: SecretKeys, file: string | null = null): Promise<object[]> {
  const logged: object[] = []
  const note = (_: string, fields: object = {}) => void logged.push(fields)
  const log = { info: note, warn: note }
  const write = async (_: string, work: () => Promise<unknown>) => work()
  await renewSecrets({ store, keys, vault: openVault(keys, random), file, write, log })
  return logged
}

it('the key file is created when it is needed, for its owner alone, and read from then on', () => {
  const file = join(root, 'secret.key')
  const keys = openSecretKeys({ given: [], file, random })
  assert.deepEqual(keys.all(), [])
  const { id } = keys.current()
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(
    readSecretKeys(readFileSync(file, 'utf8'))?.map((key) => key.id),
    [id],
  )
  assert.equal(openSecretKeys({ given: [], file, random }).current().id, id)
  const given = readSecretKeys(newKey()) ?? []
  const both = openSecretKeys({ given, file, random })
  assert.deepEqual([both.current().id, both.all().map((key) => key.id)], [given[0]?.id, [given[0]?.id, id]])
})

it('a key file without a key is refused, with what to do', () => {
  const file = join(root, 'empty.key')
  for (const content of ['', 'not a key\n']) {
    writeFileSync(file, content)
    assert.throws(
      () => openSecretKeys({ given: [], file, random }),
      /empty\.key has no key .*; restore it from a backup/,
    )
  }
})

it('without a key, nothing can be stored, and the operator learns what to set', async () => {
  await using store = await openStore()
  await assert.rejects(sealed(store, keysOf()).insertEndpoint(newEndpoint('1'), 9), (error: Error) => {
    assert.match(error.message, /FILMGATE_SECRET_KEY/)
    assert.match(String(error.cause), /openssl rand -base64 32/)
    return true
  })
})

it('secrets of webhook endpoints are encrypted in the row, and readable through the store', async () => {
  await using store = await openStore()
  const keys = keysOf(newKey())
  const safe = sealed(store, keys)
  const endpoint = newEndpoint('1')
  assert.ok(await safe.insertEndpoint(endpoint, 9))
  const rotated = { secret: 'whsec_BBBB', oldSecret: endpoint.secret, oldSecretUntil: 99 }
  assert.deepEqual(await safe.endpoint('alice', endpoint.id), endpoint)
  assert.deepEqual(await safe.updateEndpoint('alice', endpoint.id, rotated), { ...endpoint, ...rotated })
  assert.deepEqual(await safe.endpoints('alice', { limit: 9 }), [{ ...endpoint, ...rotated }])
  assert.deepEqual(
    (await rowOf(store, '1')).map((text) => sealedWith(text ?? '')),
    [keys.current().id, keys.current().id],
  )
  const renamed = await safe.updateEndpoint('alice', endpoint.id, { name: 'x', oldSecret: null, oldSecretUntil: null })
  assert.deepEqual(renamed, { ...endpoint, name: 'x', secret: 'whsec_BBBB' })
  assert.equal(await safe.endpoint('alice', 'whe_none'), undefined)
})

it('a start encrypts what an earlier version stored in clear, and what older keys encrypted', async () => {
  await using store = await openStore()
  const [old, next] = [newKey(), newKey()]
  await store.insertEndpoint(newEndpoint('1', { oldSecret: 'whsec_OLD', oldSecretUntil: 9 }), 9)
  await sealed(store, keysOf(old)).insertEndpoint(newEndpoint('2'), 9)
  assert.deepEqual(await renew(store, keysOf(old)), [{ secrets: 2 }])
  assert.deepEqual(await renew(store, keysOf(next, old)), [{ secrets: 3 }])
  assert.deepEqual(await renew(store, keysOf(next)), [])
  const safe = sealed(store, keysOf(next))
  const expected = { ...newEndpoint('1'), oldSecret: 'whsec_OLD', oldSecretUntil: 9 }
  assert.deepEqual(await safe.endpoint('alice', expected.id), expected)
  assert.deepEqual(await safe.endpoint('alice', newEndpoint('2').id), newEndpoint('2'))
})

it('a start without the key names what it can’t read', async () => {
  await using store = await openStore()
  const [right, wrong] = [keysOf(newKey()), keysOf(newKey())]
  for (const number of ['1', '2', '3', '4']) await sealed(store, right).insertEndpoint(newEndpoint(number), 9)
  const before = await rowOf(store, '1')
  for (const keys of [wrong, keysOf()])
    await assert.rejects(renew(store, keys), (error: Error) => {
      assert.match(error.message, /^FILMGATE_SECRET_KEY: .*4 webhook endpoints \(whe_0+1, whe_0+2, whe_0+3, …\)/)
      assert.match(error.message, new RegExp(`another key \\(id ${right.current().id}\\); add that key`))
      const known = keys.all().map(({ id }) => `the keys ${id} of FILMGATE_SECRET_KEY`)[0] ?? 'no key'
      assert.ok(error.message.includes(`This process has ${known}.`), error.message)
      return true
    })
  const file = join(root, 'lost.key')
  const lost = openSecretKeys({ given: [], file, random })
  await assert.rejects(
    renew(store, lost, file),
    /restore .*lost\.key from a backup of the data folder, or add that key/,
  )
  assert.throws(() => statSync(file), /ENOENT/)
  assert.deepEqual(await rowOf(store, '1'), before)
})

it('a shared store without a key goes on with secrets in clear, and says so', async () => {
  await using store = await openStore()
  assert.deepEqual(await renew(store, keysOf()), [])
  await store.insertEndpoint(newEndpoint('1'), 9)
  const [warning] = await renew(store, keysOf())
  assert.match(JSON.stringify(warning), /1 webhook endpoint \(whe_0+1\).*openssl rand -base64 32/)
  assert.deepEqual(await sealed(store, keysOf()).endpoint('alice', newEndpoint('1').id), newEndpoint('1'))
})

it('an endpoint whose secret is damaged or of another key is skipped by deliveries, and logged once', async () => {
  await using store = await openStore()
  const keys = keysOf(newKey())
  const due = async () => ({ endpoints: await store.endpoints('alice', { limit: 9 }), next: 7 })
  const warnings: object[] = []
  const shared = { ...store, dueEndpoints: due }
  await sealed(store, keys).insertEndpoint(newEndpoint('1'), 9)
  await sealed(store, keysOf(newKey())).insertEndpoint(newEndpoint('2'), 9)
  const safe = sealed(shared, keys, (_, fields) => void warnings.push(fields))
  for (const _ of ['once', 'twice'])
    assert.deepEqual(await safe.dueEndpoints(0), { endpoints: [newEndpoint('1')], next: 7 })
  assert.deepEqual(
    warnings.map((fields) => 'endpoint' in fields && fields.endpoint),
    [newEndpoint('2').id],
  )
})

it('the key of an account is encrypted in the row, and one that can’t be read is left out', async () => {
  await using store = await openStore()
  const keys = keysOf(newKey())
  const warnings: object[] = []
  const safe = sealed(store, keys)
  const account = newDeclaration('acme', { key: 'sk-a-key-of-acme' })
  const stored = await safe.saveDeclaration(account, null)
  assert.deepEqual(stored, { ...account, revision: 1 })
  const alias = await safe.saveDeclaration(newDeclaration('fox', { kind: 'alias' }), null)
  assert.deepEqual(await safe.declarations(), [stored, alias])
  const [row] = await store.declarations()
  assert.equal(sealedWith(row?.key ?? ''), keys.current().id)
  const other = sealed(store, keysOf(newKey()), (_, fields) => void warnings.push(fields))
  assert.deepEqual(await other.declarations(), [alias])
  assert.deepEqual(
    warnings.map((fields) => 'account' in fields && fields.account),
    ['account:acme'],
  )
})
