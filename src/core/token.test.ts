import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { isPossibleSecret, matchesGlob, newSecret } from './token.ts'

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

it('a made secret is long, different each time, and can be sent', () => {
  const secrets = Array.from({ length: 100 }, () => newSecret(randomBytes))
  assert.equal(new Set(secrets).size, 100)
  for (const secret of secrets) assert.match(secret, /^fg_[0-9A-Za-z]{40}$/)
  assert.ok(isPossibleSecret('My API Key'))
  for (const bad of ['', ' x', 'x ', 'é', 'a\nb']) assert.ok(!isPossibleSecret(bad))
})
