import { between, pick } from '../chance.ts'
import { css, mix, type Rgb, rgb } from '../palette.ts'
import { box, oval, shape, stroke } from '../shapes.ts'
import { glowSprite } from '../sprites.ts'
import { enter, type Moment, type Pen, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

const walls = ['#c9d3c4', '#d8c3ad', '#b9c6d6', '#d6bfc4', '#cfc8b0'] as const
const lamp = rgb('#ffd9a0')

/** A room with a window: the hour and the weather are outside, a lamp is lit when it gets dark. */
export const room: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const dark = { day: 0, dawn: 0.3, sunset: 0.45, night: 0.8 }[scene.hour]
  const dim = (colour: Rgb, share = 1): Rgb =>
    mix(mix(colour, scene.palette.sky[1], 0.14), mix(scene.palette.near, [24, 18, 30], 0.4), dark * 0.72 * share)
  const line = size.height * 0.74
  const window = {
    x: size.width * (scene.light.x < 0.5 ? 0.3 : 0.7),
    y: line - unit * 0.42,
    half: Math.min(unit * 0.24, size.width * 0.3),
  }
  const wall = dim(mix(rgb(pick(chance, walls)), scene.palette.sky[2], 0.15))
  const frame = dim(rgb('#f3ede2'))
  const decor = layDecor(stage, window.x, dim)
  const glow = glowSprite(lamp, 128)
  const boards = dim(rgb('#a5774d'))
  return {
    back(pen, moment) {
      enter(pen, stage, moment, 0.3, () => {
        const shade = pen.createLinearGradient(0, 0, 0, line)
        shade.addColorStop(0, css(mix(wall, [0, 0, 0], 0.18)))
        shade.addColorStop(1, css(wall))
        pen.fillStyle = shade
        pen.beginPath()
        pen.rect(-size.width, -size.height * 0.5, size.width * 3, size.height * 1.4)
        // The window is a hole: the sky behind it is the real one.
        pen.rect(window.x + window.half, window.y - window.half * 1.15, -window.half * 2, window.half * 2.3)
        pen.fill('evenodd')
        drawWindow(pen, stage, moment, { ...window, frame: css(frame), cloth: css(dim(rgb('#e6d2c2'), 0.8), 0.94) })
        decor(pen, moment)
        pen.fillStyle = css(mix(frame, wall, 0.3))
        pen.fillRect(-size.width, line - unit * 0.028, size.width * 3, unit * 0.03)
      })
      enter(pen, stage, moment, 0.6, () =>
        drawFloor(pen, stage, {
          line,
          boards,
          dark,
          rug: css(dim(mix(scene.palette.near, rgb('#a8483e'), 0.65)), 0.9),
          windowX: window.x,
        }),
      )
      if (dark > 0.2) {
        pen.globalAlpha = dark * 0.75
        const side = window.x < size.width / 2 ? 0.84 : 0.16
        pen.drawImage(glow, size.width * side - unit * 0.5, line - unit * 0.88, unit, unit)
        pen.globalAlpha = 1
      }
    },
    floor: { depth: 0.86, at: () => size.height * 0.85 },
    medium: 'air',
  }
}

interface Opening {
  x: number
  y: number
  half: number
  frame: string
  cloth: string
}

function drawWindow(pen: Pen, stage: Stage, moment: Moment, opening: Opening): void {
  const { x, y, half, frame, cloth } = opening
  const tall = half * 1.15
  pen.strokeStyle = frame
  pen.lineWidth = half * 0.08
  pen.strokeRect(x - half, y - tall, half * 2, tall * 2)
  pen.lineWidth = half * 0.045
  pen.beginPath()
  pen.moveTo(x, y - tall)
  pen.lineTo(x, y + tall)
  pen.moveTo(x - half, y - tall * 0.2)
  pen.lineTo(x + half, y - tall * 0.2)
  pen.stroke()
  box(pen, frame, [x - half * 1.14, y + tall, half * 2.28, half * 0.1], half * 0.02)
  const breeze = stage.scene.weather === 'wind' || stage.scene.weather === 'storm' ? 0.16 : 0.04
  for (const side of [-1, 1]) {
    const blow = breeze * half * Math.sin(moment.seconds * 1.1 + side)
    shape(pen, cloth, [
      [x + side * half * 0.72, y - tall * 1.1],
      [x + side * half * 1.3, y - tall * 1.1],
      [x + side * half * 1.34 + blow * 0.4, y + tall * 1.25],
      [x + side * half * 0.98 + blow, y + tall * 1.25],
      [x + side * half * 0.86 + blow * 0.6, y],
    ])
  }
  stroke(pen, frame, half * 0.05, [
    [x - half * 1.5, y - tall * 1.1],
    [x, y - tall * 1.1],
    [x + half * 1.5, y - tall * 1.1],
  ])
}

/** Pictures on the wall and a lamp on the side where there is no window. */
function layDecor(
  stage: Stage,
  windowX: number,
  dim: (colour: Rgb, share?: number) => Rgb,
): (pen: Pen, moment: Moment) => void {
  const { size, unit, chance, scene } = stage
  const side = windowX < size.width / 2 ? 1 : -1
  const x = size.width * (side > 0 ? 0.66 : 0.34)
  const picture = {
    width: unit * between(chance, 0.14, 0.2),
    height: unit * between(chance, 0.12, 0.16),
    sky: css(dim(scene.palette.sky[1])),
    hill: css(dim(scene.palette.near)),
  }
  const lampX = size.width * (side > 0 ? 0.84 : 0.16)
  return (pen) => {
    const top = size.height * 0.74 - unit * 0.54
    box(pen, css(dim(rgb('#5d4632'))), [
      x - picture.width / 2 - unit * 0.008,
      top - unit * 0.008,
      picture.width + unit * 0.016,
      picture.height + unit * 0.016,
    ])
    box(pen, picture.sky, [x - picture.width / 2, top, picture.width, picture.height])
    shape(pen, picture.hill, [
      [x - picture.width / 2, top + picture.height],
      [x - picture.width * 0.2, top + picture.height * 0.45],
      [x + picture.width * 0.1, top + picture.height * 0.75],
      [x + picture.width / 2, top + picture.height * 0.4],
      [x + picture.width / 2, top + picture.height],
    ])
    stroke(pen, css(dim(rgb('#3c3230'))), unit * 0.008, [
      [lampX, size.height * 0.74],
      [lampX, size.height * 0.74 - unit * 0.16],
      [lampX, size.height * 0.74 - unit * 0.34],
    ])
    shape(pen, css(mix(dim(rgb('#f0d9ae')), lamp, 0.4)), [
      [lampX - unit * 0.035, size.height * 0.74 - unit * 0.42],
      [lampX + unit * 0.035, size.height * 0.74 - unit * 0.42],
      [lampX + unit * 0.065, size.height * 0.74 - unit * 0.335],
      [lampX - unit * 0.065, size.height * 0.74 - unit * 0.335],
    ])
    oval(pen, css(dim(rgb('#3c3230'))), [lampX, size.height * 0.74], [unit * 0.05, unit * 0.01])
  }
}

function drawFloor(
  pen: Pen,
  stage: Stage,
  floor: { line: number; boards: Rgb; dark: number; rug: string; windowX: number },
): void {
  const { size, unit, scene } = stage
  const { line, boards } = floor
  const shade = pen.createLinearGradient(0, line, 0, size.height)
  shade.addColorStop(0, css(mix(boards, [0, 0, 0], 0.12)))
  shade.addColorStop(1, css(mix(boards, [0, 0, 0], 0.34)))
  pen.fillStyle = shade
  pen.fillRect(-size.width, line, size.width * 3, size.height)
  pen.strokeStyle = css(mix(boards, [0, 0, 0], 0.45), 0.45)
  pen.lineWidth = Math.max(1, unit * 0.002)
  pen.beginPath()
  for (let plank = -14; plank <= 14; plank++) {
    pen.moveTo(size.width / 2 + plank * unit * 0.11, line)
    pen.lineTo(size.width / 2 + plank * unit * 0.26, size.height * 1.25)
  }
  pen.stroke()
  oval(pen, floor.rug, [size.width / 2, size.height * 0.875], [Math.min(unit * 0.62, size.width * 0.46), unit * 0.085])
  oval(
    pen,
    'rgba(255,240,220,0.12)',
    [size.width / 2, size.height * 0.875],
    [Math.min(unit * 0.54, size.width * 0.4), unit * 0.068],
  )
  // Light from the window lies on the floor by day.
  const x = floor.windowX
  shape(pen, css(scene.palette.light, 0.2 * (1 - floor.dark)), [
    [x - unit * 0.16, line],
    [x + unit * 0.2, line],
    [x + unit * 0.42, size.height * 0.95],
    [x + unit * 0.02, size.height * 0.95],
  ])
}
