import { rgb } from '../palette.ts'
import { blob, oval, shape } from '../shapes.ts'
import { breath, type Subject, wave } from './subject.ts'

export const penguin: Subject = {
  words: 'penguin pingüino pingouin pinguin',
  habitat: 'ground',
  kilograms: 25,
  home: 'mountains',
  colour: rgb('#2d3545'),
  height: 0.28,
  reach: { left: 0.5, right: 0.5, up: 1.05, down: 0.05 },
  many: 4,
  draw: (pen, paint, pose) => {
    const waddle = pose.gait === 'idle' ? 0.02 * breath(pose) : 0.1 * wave(pose, 1)
    const flap = pose.gait === 'dance' ? 0.5 * wave(pose, 1) : 0.08 * breath(pose, 0.5)
    for (const side of [-1, 1])
      oval(pen, paint.lit('#f0a030'), [0.1 * side + 0.05, -0.03 - Math.max(0, waddle * side) * 0.4], [0.12, 0.04])
    pen.save()
    pen.rotate(waddle)
    blob(pen, paint.dark, [
      [-0.22, -0.6],
      [-0.36 - flap * 0.3, -0.4],
      [-0.4 - flap * 0.5, -0.22],
      [-0.26, -0.3],
    ])
    blob(pen, paint.main, [
      [0, -1],
      [0.2, -0.88],
      [0.24, -0.66],
      [0.32, -0.36],
      [0.22, -0.06],
      [-0.22, -0.06],
      [-0.32, -0.36],
      [-0.22, -0.68],
      [-0.18, -0.9],
    ])
    blob(pen, paint.lit('#f7f4ee'), [
      [0.16, -0.82],
      [0.2, -0.64],
      [0.27, -0.36],
      [0.18, -0.08],
      [-0.1, -0.08],
      [-0.16, -0.36],
      [-0.04, -0.66],
      [0.04, -0.78],
    ])
    shape(pen, paint.lit('#f0a030'), [
      [0.16, -0.88],
      [0.36, -0.82],
      [0.17, -0.78],
    ])
    oval(pen, paint.ink, [0.1, -0.88], [0.026, 0.028])
    blob(pen, paint.dark, [
      [-0.02, -0.62],
      [0.1, -0.44],
      [0.06 + flap * 0.4, -0.2],
      [-0.06, -0.3],
    ])
    pen.restore()
  },
}
