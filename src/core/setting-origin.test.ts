import assert from 'node:assert/strict'
import { it } from 'node:test'
import { compareOrigins, type SettingOrigin } from './setting-origin.ts'

const origin = (name: string, text: string, isSecret = false): SettingOrigin => ({
  ...{ name, about: '', source: 'file', where: 'filmgate.yaml', isSecret, text },
  shown: isSecret ? null : text,
})

it('says what a restart would change, add and remove, and of a secret only that it does', () => {
  const now = [origin('a', '1'), origin('b', '1'), origin('key', 'old', true), origin('gone', '1')]
  const next = [origin('new', '3'), origin('a', '1'), origin('b', '2'), origin('key', 'other', true)]
  assert.deepEqual(
    compareOrigins(now, next).map(({ name, effect, shown, nextShown }) => [name, effect, shown, nextShown]),
    [
      ['a', 'same', '1', '1'],
      ['b', 'changed', '1', '2'],
      ['key', 'changed', null, null],
      ['gone', 'removed', '1', null],
      ['new', 'added', null, '3'],
    ],
  )
})

it('a value that becomes a secret is hidden, and not said to be missing', () => {
  const plain = origin('base_url', 'http://engine')
  const secret = origin('base_url', 'http://me:password@engine', true)
  const hidden = (now: SettingOrigin, next: SettingOrigin[]) =>
    compareOrigins([now], next).map(({ nextShown, isNextHidden }) => [nextShown, isNextHidden])
  assert.deepEqual(hidden(plain, [secret]), [[null, true]])
  assert.deepEqual(hidden(secret, [plain]), [['http://engine', false]])
  assert.deepEqual(hidden(secret, [{ ...secret, text: null }]), [[null, false]])
  assert.deepEqual(hidden(secret, []), [[null, false]])
})
