import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openAccess } from '../access.ts'
import { digestSecret, type Token } from '../core/token.ts'
import { newSecretKey } from '../core/vault.ts'
import { openCodes } from './codes.ts'

let time = 1_800_000_000_000
const clock = { now: () => time }
let drawn = 0
const random = (count: number) => Uint8Array.from({ length: count }, () => drawn++ % 256)
const token = (secret: string): Token => ({ kind: 'operator', name: 'ops', digest: digestSecret(secret), models: [] })
const given = (secret: string) => ({ token: token(secret), digest: digestSecret(secret) })
const key = newSecretKey(random)
const keysOf = (...all: (typeof key)[]) => ({
  all: () => all.map((one) => ({ ...one, from: 'FILMGATE_SECRET_KEY' })),
  current: () => all[0] ?? key,
})

/** What the processes share. */
const used = new Set<string>()
const store = {
  async useCode(code: string) {
    const isNew = !used.has(code)
    used.add(code)
    return isNew
  },
}

function open({ keys = keysOf(key), secret = 'one' } = {}) {
  const access = openAccess({ tokens: [token(secret)] })
  return { access, codes: openCodes({ access, keys, store, clock, random }) }
}

it('a code opens its token once, within 10 minutes, in any process with the key', async () => {
  const { codes } = open()
  const { code, expiresAt } = codes.create(given('one'))
  assert.equal(code.length, 31)
  assert.equal(expiresAt, time + 600_000)
  assert.equal((await codes.redeem(code))?.token.name, 'ops')
  assert.equal(await codes.redeem(code), undefined)
  // Another process, whose key was rotated meanwhile.
  const { codes: others } = open({ keys: keysOf(newSecretKey(random), key) })
  assert.equal(await others.redeem(code), undefined)
  assert.equal((await others.redeem(codes.create(given('one')).code))?.token.name, 'ops')
  const late = codes.create(given('one')).code
  time += 600_000
  assert.equal(await codes.redeem(late), undefined)
})

it('a code that is refused by a check stays valid', async () => {
  const { codes } = open()
  const { code } = codes.create(given('one'))
  const refuse = () => {
    throw new Error('not here')
  }
  await assert.rejects(codes.redeem(code, refuse), /not here/)
  assert.equal((await codes.redeem(code, () => {}))?.token.name, 'ops')
  assert.equal(await codes.redeem(code, () => {}), undefined)
})

it('a code that was changed, spelled otherwise, or made with another key or an earlier secret opens nothing', async () => {
  const { codes, access } = open()
  const { code } = codes.create(given('one'))
  for (let at = 0; at < code.length; at += 1) {
    const changed = code.slice(0, at) + (code[at] === 'A' ? 'B' : 'A') + code.slice(at + 1)
    assert.equal(await codes.redeem(changed), undefined, changed)
  }
  for (const other of [`${code}=`, `${code} `, code.slice(1), '', 'é', 'x'.repeat(100)])
    assert.equal(await codes.redeem(other), undefined, other)
  assert.equal(await open({ keys: keysOf(newSecretKey(random)) }).codes.redeem(code), undefined)
  access.change({ set: [token('two')] })
  assert.equal(await codes.redeem(code), undefined)
})

it('while a secret is replaced, a code opens its token with the secret that created it, until that one ends', async () => {
  const { codes, access } = open()
  const [code, late] = [codes.create(given('one')).code, codes.create(given('one')).code]
  access.change({ set: [{ ...token('two'), older: [{ digest: digestSecret('one'), until: time + 60_000 }] }] })
  assert.equal((await codes.redeem(code))?.digest, digestSecret('one'))
  assert.equal((await codes.redeem(codes.create(given('two')).code))?.digest, digestSecret('two'))
  time += 60_000
  assert.equal(await codes.redeem(late), undefined)
})
