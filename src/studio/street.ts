import { between } from './chance.ts'
import { css, mix, rgb } from './palette.ts'
import { snowedOn } from './snow.ts'
import { glowSprite } from './sprites.ts'
import { type Drawing, enter, marginOf, type Pen, type Stage } from './stage.ts'

const warm = rgb('#ffd08a')

/** The foot of a city: a pavement with lamps, and a road that shines when it is wet. */
export function layStreet(stage: Stage): { draw: Drawing; floor: number } {
  const { size, unit, chance, scene } = stage
  const dark = { day: 0, dawn: 0.45, sunset: 0.6, night: 1 }[scene.hour]
  const curb = size.height * 0.775
  const road = size.height * 0.8
  const margin = marginOf(stage, 0.86)
  const gap = unit * between(chance, 0.42, 0.55)
  const places = Array.from(
    { length: Math.ceil((size.width + margin * 2) / gap) },
    (_, index) => -margin + (index + chance() * 0.1) * gap,
  )
  const glow = glowSprite(warm, 64)
  const wet = scene.weather === 'rain' || scene.weather === 'storm'
  const dry = mix(mix(rgb('#5b5f6a'), scene.palette.sky[1], 0.25), scene.palette.near, 0.45 + 0.35 * dark)
  // Cars have taken some of it away.
  const asphalt = snowedOn(scene, dry, 0.8)
  const pavement = snowedOn(scene, mix(dry, scene.palette.light, 0.22), 0.95)

  function lamp(pen: Pen, x: number): void {
    const top = curb - unit * 0.3
    pen.moveTo(x, curb)
    pen.lineTo(x, top)
    pen.quadraticCurveTo(x, top - unit * 0.03, x + unit * 0.05, top - unit * 0.03)
  }

  return {
    floor: size.height * 0.855,
    draw(pen, moment) {
      enter(pen, stage, moment, 0.86, () => {
        const shade = pen.createLinearGradient(0, road, 0, size.height)
        shade.addColorStop(0, css(asphalt))
        shade.addColorStop(1, css(mix(asphalt, [0, 0, 0], scene.snow ? 0.08 : 0.35)))
        pen.fillStyle = css(pavement)
        pen.fillRect(-margin, curb, size.width + margin * 2, size.height)
        pen.fillStyle = shade
        pen.fillRect(-margin, road, size.width + margin * 2, size.height)
        pen.fillStyle = css(mix(asphalt, [255, 255, 255], 0.55), 0.7)
        for (let x = -margin; x < size.width + margin; x += unit * 0.2)
          pen.fillRect(x, size.height * 0.925, unit * 0.1, unit * 0.008)
        pen.strokeStyle = css(mix(scene.palette.near, [0, 0, 0], 0.4))
        pen.lineWidth = unit * 0.008
        pen.beginPath()
        for (const x of places) lamp(pen, x)
        pen.stroke()
        for (const x of places) shine(pen, x + unit * 0.05)
      })
    },
  }

  function shine(pen: Pen, x: number): void {
    const y = curb - unit * 0.325
    if (dark > 0) {
      const reach = unit * 0.13
      pen.globalAlpha = 0.35 + 0.5 * dark
      pen.drawImage(glow, x - reach, y - reach, reach * 2, reach * 2)
      pen.globalAlpha = (wet ? 0.6 : 0.22) * dark
      pen.drawImage(glow, x - reach * 0.6, road, reach * 1.2, wet ? unit * 0.24 : unit * 0.07)
      pen.globalAlpha = 1
    }
    pen.fillStyle = css(mix(warm, [255, 255, 255], 0.5), 0.4 + 0.6 * dark)
    pen.fillRect(x - unit * 0.012, y, unit * 0.024, unit * 0.007)
  }
}
