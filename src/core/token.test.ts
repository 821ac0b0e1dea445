import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import {
  fullAllowance,
  isMistyped,
  isPossibleSecret,
  isTokenId,
  matchesGlob,
  newSecret,
  newTokenId,
  refill,
  waitFor,
} from './token.ts'

it('a star stands for any run of characters, and everything else for itself', () => {
  const yes: [string, string][] = [
    ['*', 'x'],
    ['*', ''],
    ['kling-*', 'kling-3'],
    ['*/veo', 'google/veo'],
    ['a*b*c', 'a1b2c'],
    ['a*b*c', 'abbc'],
    ['**', 'x'],
    ['studio', 'studio'],
  ]
  const no: [string, string][] = [
    ['kling-*', 'kling'],
    ['a*b*c', 'ac'],
    ['a*a', 'a'],
    ['studio', 'studio2'],
    ['', 'x'],
    ['.*', 'x'],
    ['stud?o', 'studio'],
  ]
  for (const [glob, name] of yes) assert.ok(matchesGlob(glob, name), `${glob} should match ${name}`)
  for (const [glob, name] of no) assert.ok(!matchesGlob(glob, name), `${glob} should not match ${name}`)
})

it('a generated secret is long, different each time, and can be sent', () => {
  const secrets = Array.from({ length: 100 }, () => newSecret(newTokenId(1_700_000_000_000, randomBytes), randomBytes))
  assert.equal(new Set(secrets).size, 100)
  for (const secret of secrets) assert.match(secret, /^fg_[0-9a-z]{12}_[0-9A-Za-z]{28}$/)
  assert.ok(isPossibleSecret('My API Key'))
  for (const bad of ['', ' x', 'x ', 'é', 'a\nb']) assert.ok(!isPossibleSecret(bad))
})

it('an id is in the order of creation, and a part of the secret', () => {
  const ids = [5, 1_700_000_000_000, 1_700_000_000_001].map((now) => newTokenId(now, randomBytes))
  assert.deepEqual(ids, ids.toSorted())
  for (const id of ids) {
    assert.ok(isTokenId(id), id)
    assert.ok(newSecret(id, randomBytes).startsWith(`fg_${id.slice(4)}_`))
  }
  for (const text of ['', 'tok_', `${ids[0]}0`, `config:${ids[0]}`]) assert.ok(!isTokenId(text), text)
})

it('a typo in a secret is told apart from another secret', () => {
  const secret = newSecret(newTokenId(1_700_000_000_000, randomBytes), randomBytes)
  assert.ok(!isMistyped(secret))
  for (const at of [20, 30, 43]) {
    const other = secret[at] === 'x' ? 'y' : 'x'
    assert.ok(isMistyped(secret.slice(0, at) + other + secret.slice(at + 1)), `at ${at}`)
  }
  assert.ok(isMistyped(secret.slice(0, -1)) && isMistyped(`${secret}x`))
  // Secrets of earlier versions, and those of operators, have no checksum.
  for (const text of [`fg_${'x'.repeat(40)}`, 'My API Key', '']) assert.ok(!isMistyped(text), text)
})

const rate = { perMinute: 60 }

it('an allowance refills evenly, up to what a minute has', () => {
  const empty = { ...fullAllowance(rate, 0), left: 0 }
  assert.equal(refill(empty, rate, 500).left, 0.5)
  assert.equal(refill(empty, rate, 30_000).left, 30)
  assert.equal(refill(empty, rate, 3_600_000).left, 60)
})

it('says how long until the next request is available', () => {
  assert.equal(waitFor(1, { left: 0, at: 0 }, rate), 1_000)
  assert.equal(waitFor(1, { left: 0.25, at: 0 }, rate), 750)
  assert.equal(waitFor(1, { left: 1, at: 0 }, rate), 0)
})

it('a clock that was set back does not change an allowance', () => {
  assert.deepEqual(refill({ left: 3, at: 1_000 }, rate, 0), { left: 3, at: 0 })
})
