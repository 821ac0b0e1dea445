import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assetsOf } from './rows.ts'

const asset = (name: string) => ({ key: `video_1/${name}`, bytes: 7, sha256: 'abc' })

it('names every object of a task: its image, its video, and what it is made of', () => {
  const source = { kind: 'extension', video: 'video_0', prompt: 'x', seconds: 4, asset: asset('source.mp4') }
  const row = {
    id: 'video_1',
    image: JSON.stringify({ asset: asset('image'), type: 'image/png', size: { width: 1, height: 1 } }),
    video: JSON.stringify(asset('video.1.mp4')),
    source: JSON.stringify(source),
  }
  const { assets, broken } = assetsOf(row)
  assert.deepEqual(
    assets.map((each) => each.asset),
    [asset('image'), asset('video.1.mp4'), asset('source.mp4')],
  )
  assert.deepEqual(broken, [])
})

it('knows what has no object, and what can’t be read', () => {
  const none = { image: '{"url":"https://x.example/a.png"}', video: null, source: '{"kind":"remix","asset":null}' }
  assert.deepEqual(assetsOf({ id: 'video_1', ...none }), { assets: [], broken: [] })
  const odd = { image: '{', video: '{"key":7}', source: '{"asset":{"key":7}}' }
  assert.deepEqual(assetsOf({ id: 'video_1', ...odd }).broken, ['image', 'video', 'source'])
})
