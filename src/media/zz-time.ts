import { createCanvas } from '@napi-rs/canvas'
import { sceneShot } from './draw.ts'
import { sceneOf } from './scene.ts'
import { render } from './render.ts'
const size = { width: 1280, height: 720 }
for (const prompt of ['a calm sea at sunset','misty forest','hills by day','space nebula','city at night in rain','snow mountains','desert']) {
  const t0 = performance.now()
  const shot = sceneShot(sceneOf(prompt), size, 4)
  const canvas = createCanvas(size.width, size.height); const pen = canvas.getContext('2d')
  const t1 = performance.now()
  for (let i = 0; i < 24; i++) { shot(pen, { seconds: i / 24, share: i / 96 }); canvas.data(); await new Promise(r=>setImmediate(r)) }
  const t2 = performance.now()
  await render({ path: '/tmp/studio/x.mp4', prompt, seconds: 4, size, image: null }, () => {})
  const t3 = performance.now()
  console.log(prompt, 'setup', (t1 - t0).toFixed(0), 'frame', ((t2 - t1) / 24).toFixed(1), 'film 4s', (t3 - t2).toFixed(0))
}
