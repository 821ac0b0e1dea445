import assert from 'node:assert/strict'
import { it } from 'node:test'
import { buildCatalog, type CatalogEntry, type ModelCard, toCard } from './catalog.ts'
import {
  combinedPrompts,
  fitSource,
  longestSeconds,
  requireSourceSupport,
  requireSourceVideo,
  uploadLimits,
} from './source.ts'
import { type Asset, digestRequest, type SourceKind, type TaskSource } from './task.ts'
import type { Token } from './token.ts'

const token: Token = { kind: 'client', name: 'me', digest: '', models: ['*'] }
const size = { width: 640, height: 360 }

function cardOf(id: string, makes?: readonly SourceKind[]): ModelCard {
  const seconds = { min: 1, max: 20, default: 4 }
  const sizes = { minSide: 256, maxSide: 1920, multipleOf: 2, default: '640x360' }
  const template = { id, provider: 'p', upstreamModel: id, description: '', created: 0, seconds, size: sizes }
  const rest = { image: 'none', parameters: {}, pollAfterMs: 1, failuresBilled: false } as const
  return toCard({ ...template, ...rest, ...(makes && { makes }) }, ['a'])
}

it('a model that can’t derive the video is refused, with the models of the token that can', () => {
  const cards = [cardOf('none'), cardOf('one', ['remix']), cardOf('all', ['remix', 'edit', 'extension'])]
  const catalog = buildCatalog(cards, { alias: 'all' }, null)
  const entry = (name: string) => catalog.entries.get(name) as CatalogEntry
  requireSourceSupport(entry('one'), 'remix', catalog, token)
  requireSourceSupport(entry('alias'), 'extension', catalog, token)
  const refused = (name: string, kind: SourceKind, models = ['*']) => {
    try {
      requireSourceSupport(entry(name), kind, catalog, { ...token, models })
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  assert.equal(refused('one', 'extension'), "Model 'one' can't extend videos. Models that can: all.")
  assert.equal(refused('none', 'remix'), "Model 'none' can't remix videos. Models that can: one, all.")
  assert.equal(
    refused('one', 'edit', ['one']),
    "Model 'one' can't edit videos. You have no access to a model that can.",
  )
})

it('only a completed video that has not expired can be a source', () => {
  const video: Asset = { key: 'x/y', bytes: 1, sha256: '' }
  const film = { id: 'video_1', state: 'completed', video, expiresAt: 100 } as const
  assert.equal(requireSourceVideo(film, 'video', 99), video)
  const refusals = [
    [{ ...film, state: 'queued', video: null, expiresAt: null }, /not ready yet/],
    [{ ...film, state: 'storing', video: null, expiresAt: null }, /not ready yet/],
    [{ ...film, state: 'failed', video: null, expiresAt: null }, /has failed/],
    [{ ...film, video: null }, /has expired/],
    [{ ...film, expiresAt: 50 }, /has expired/],
  ] as const
  for (const [task, message] of refusals)
    assert.throws(() => requireSourceVideo(task, 'video', 99), { code: 'video_not_usable', param: 'video', message })
})

it('a derived video has the size and the length of its source, or is longer, up to 120 s', () => {
  const card = cardOf('m')
  const fit = (seconds: number, more: number | null, of = size) =>
    fitSource(card, { seconds, size: of, param: 'video' }, more)
  assert.deepEqual([fit(4, null), fit(4, 8), fit(100, 20), fit(119, 1)], [4, 12, 120, 120])
  assert.throws(() => fit(24, null), { param: 'video', message: /24 seconds\. Model 'm' accepts/ })
  assert.throws(() => fit(4, null, { width: 641, height: 360 }), { param: 'video', message: /641x360 pixels\. Model/ })
  assert.throws(() => fit(4, 4, { width: 4096, height: 2160 }), { param: 'video' })
  assert.throws(() => fit(110, 11), { param: 'seconds', message: /121 seconds.*Extend it by at most 10/ })
  assert.throws(() => fit(120, 1), { param: 'seconds', message: /can't be extended any more/ })
})

it('the source prompt has all prompts, the last first, up to the limit of a prompt', () => {
  const source: TaskSource = { kind: 'remix', video: 'v', prompt: 'a fox', seconds: 1, asset: null }
  assert.equal(combinedPrompts({ prompt: 'a fox', source: null }), 'a fox')
  assert.equal(combinedPrompts({ prompt: 'at night', source }), 'at night. a fox')
  assert.equal(combinedPrompts({ prompt: 'x', source: { ...source, prompt: null } }), 'x')
  assert.equal(combinedPrompts({ prompt: 'x', source: { ...source, prompt: 'y'.repeat(40_000) } }).length, 32_000)
})

it('requests that differ only in their source have different digests; without a source the digest has not changed', () => {
  const asked = { card: 'm', prompt: 'p', seconds: 4, size, parameters: {}, image: null }
  const digests = [undefined, null, 'remix a', 'remix b', 'edit a'].map((source) =>
    digestRequest(source === undefined ? asked : { ...asked, source }),
  )
  // As in versions without sources: a repeat may be sent across an update.
  assert.deepEqual(digests.slice(0, 2), [182_523_570_007_665, 182_523_570_007_665])
  assert.equal(new Set(digests).size, 4)
})

it('an upload may be as large and as long as its model accepts', () => {
  const card = cardOf('one')
  assert.deepEqual(uploadLimits(card, 'edit'), { side: 1920, seconds: 20, frames: 7200 })
  assert.equal(uploadLimits(card, 'extension').seconds, longestSeconds)
  const size = { values: ['1280x720', '720x1280'], default: '1280x720' }
  assert.equal(uploadLimits({ ...card, size }, 'edit').side, 1280)
  assert.equal(uploadLimits({ ...card, seconds: { values: [5, 10], default: 5 } }, 'edit').seconds, 10)
})
