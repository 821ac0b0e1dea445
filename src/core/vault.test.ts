import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { Problem } from './problem.ts'
import { newSecretKey, openVault, readSecretKeys, type SecretKey, sealedPrefix, sealedWith } from './vault.ts'

const random = (count: number) => randomBytes(count)
const place = { table: 'endpoints', id: 'whe_1', column: 'secret' }

function vaultOf(...keys: SecretKey[]) {
  const current = () => keys[0] ?? assert.fail('there is no key')
  return openVault({ all: () => keys.map((key) => ({ ...key, from: 'a test' })), current }, random)
}

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === 'storage_unavailable', String(error))
    assert.ok(error.cause instanceof Error)
    return error.cause.message
  }
  return assert.fail('it was not refused')
}

it('encrypts any text, differently each time, and decrypts it at the same place', () => {
  const key = newSecretKey(random)
  const vault = vaultOf(key)
  for (const text of ['whsec_AAAA', '', 'zwölf "Schlüssel" 🎬', 'x'.repeat(100_000)]) {
    const [one, other] = [vault.seal(text, place), vault.seal(text, place)]
    assert.notEqual(one, other)
    assert.ok(one.startsWith(sealedPrefix(key.id)))
    assert.equal(sealedWith(one), key.id)
    if (text.length > 4) assert.ok(!one.includes(text))
    assert.deepEqual([vault.open(one, place), vault.open(other, place)], [text, text])
  }
})

it('returns text of an earlier version, which is not encrypted, as it is', () => {
  const vault = vaultOf(newSecretKey(random))
  for (const text of ['whsec_AAAA', '', 'sealed', 'unsealed:1:AAAA']) {
    assert.equal(sealedWith(text), null)
    assert.equal(vault.open(text, place), text)
  }
})

it('refuses malformed text that begins like an encrypted one', () => {
  const vault = vaultOf(newSecretKey(random))
  const sealed = vault.seal('whsec_AAAA', place)
  for (const text of ['sealed:', 'sealed:1:nokey:AAAA', 'sealed:2:01234567:AAAA', sealed.slice(0, 15), `${sealed} `])
    assert.match(
      refusalOf(() => vault.open(text, place)),
      /'secret' of 'whe_1' .* can't be decrypted: it is cut off, or was encrypted by a newer version/,
    )
})

it('refuses text of another row, column or table, and text that was changed', () => {
  const vault = vaultOf(newSecretKey(random))
  const sealed = vault.seal('whsec_AAAA', place)
  for (const other of [
    { ...place, id: 'whe_2' },
    { ...place, column: 'old_secret' },
    { ...place, table: 'accounts' },
  ])
    assert.match(
      refusalOf(() => vault.open(sealed, other)),
      /damaged, or was copied from another row/,
    )
  const start = sealed.lastIndexOf(':') + 1
  for (let at = start; at < sealed.length; at += 1) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'Q' : 'A') + sealed.slice(at + 1)
    assert.match(
      refusalOf(() => vault.open(changed, place)),
      /'secret' of 'whe_1' in the table 'endpoints'/,
    )
  }
  for (const cut of [sealed.slice(0, start + 1), sealed.slice(0, start + 20), sealed.slice(0, -1)])
    assert.match(
      refusalOf(() => vault.open(cut, place)),
      /damaged/,
    )
})

it('the first key encrypts, every key decrypts, and a missing one is named', () => {
  const [old, next] = [newSecretKey(random), newSecretKey(random)]
  const sealed = vaultOf(old).seal('whsec_AAAA', place)
  const both = vaultOf(next, old)
  assert.equal(both.open(sealed, place), 'whsec_AAAA')
  assert.equal(sealedWith(both.seal('whsec_AAAA', place)), next.id)
  assert.match(
    refusalOf(() => vaultOf(next).open(sealed, place)),
    new RegExp(`the key ${old.id}, which this process`),
  )
})

it('reads keys of 32 bytes in base64, and nothing else', () => {
  const keys = [randomBytes(32), randomBytes(32)]
  const [one = '', other = ''] = keys.map((bytes) => bytes.toString('base64'))
  const read = (text: string) => readSecretKeys(text)?.map(({ bytes }) => Buffer.from(bytes).toString('base64'))
  assert.deepEqual(read(one), [one])
  assert.deepEqual(read(` ${one}, ${other}\n`), [one, other])
  assert.deepEqual(read(`${one}\n${other}\n`), [one, other])
  assert.deepEqual(read(keys[0]?.toString('base64url') ?? ''), [one])
  assert.deepEqual(read(''), [])
  for (const wrong of ['secret', randomBytes(16).toString('base64'), randomBytes(32).toString('hex'), `${one},x`])
    assert.equal(read(wrong), undefined)
})
