import assert from 'node:assert/strict'
import { it } from 'node:test'
import { emptyDraft } from './playground.ts'
import { createRequestKeys } from './request-keys.ts'

it('a form has one key for each model, until it changes or another video is wanted', () => {
  const keys = createRequestKeys()
  const draft = { ...emptyDraft, prompt: 'a fox' }
  const first = keys.keyOf(draft, 'studio')
  assert.match(first, /^console-[0-9a-f]{32}$/)
  assert.equal(keys.keyOf(draft, 'studio'), first)
  assert.notEqual(keys.keyOf(draft, 'sora-2'), first)
  // The same values again are another form: somebody typed in it, or chose `Run again`.
  assert.notEqual(keys.keyOf({ ...draft }, 'studio'), first)
  assert.equal(keys.keyOf(draft, 'studio'), first)
  keys.renew(draft, 'studio')
  assert.notEqual(keys.keyOf(draft, 'studio'), first)
})
