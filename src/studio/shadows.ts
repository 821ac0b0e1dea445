import type { Actor, Picture, Seen, Spot } from './actor.ts'
import { css, mix } from './palette.ts'
import type { Moment, Pen, Stage } from './stage.ts'
import type { Pose } from './subjects/subject.ts'

/** Shadows are soft: small pictures of them are enough. */
export const shadowHeight = 120

/** A soft patch where it stands, and its own shape thrown away from the light: long when the light is low. */
export function dropShadow(pen: Pen, stage: Stage, actor: Actor, { spot, pose }: { spot: Spot; pose: Pose }): void {
  const { scene, size } = stage
  const { mark, subject, patch, shadow } = actor
  const strength = scene.weather === 'clear' || scene.weather === 'wind' ? 1 : 0.55
  const half = (subject.half ?? Math.min(subject.reach.left, subject.reach.right, 1.2)) * mark.height
  const nearness = Math.max(0.3, 1 - (spot.up / mark.height) * 1.6)
  pen.globalAlpha = 0.5 * strength * nearness
  pen.drawImage(patch, spot.x - half * 1.05 * nearness, spot.y - half * 0.14, half * 2.1 * nearness, half * 0.28)
  pen.globalAlpha = 1
  if (!shadow) return
  const height = Math.min(mark.height, shadowHeight)
  shadow.pen.clearRect(0, 0, shadow.canvas.width, shadow.canvas.height)
  shadow.pen.save()
  shadow.pen.translate(shadow.x, shadow.y)
  shadow.pen.scale(height * mark.face, height)
  subject.draw(shadow.pen, actor.shade, pose)
  shadow.pen.restore()
  const long = { day: 0.2, dawn: 0.5, sunset: 0.55, night: 0.24 }[scene.hour]
  const lean = Math.max(-1.1, Math.min(1.1, ((spot.x - size.width * scene.light.x) / size.width) * 2))
  const grow = mark.height / height
  pen.globalAlpha = 0.26 * strength
  pen.save()
  pen.translate(spot.x + lean * spot.up * 0.4, spot.y + spot.up * long * 0.5)
  pen.transform(grow, 0, -lean * long * 1.4 * grow, -long * grow, 0, 0)
  pen.drawImage(shadow.canvas, -shadow.x, -shadow.y)
  pen.restore()
  pen.globalAlpha = 1
}

/** The water breaks a reflection into bands that sway. */
export function reflect(pen: Pen, moment: Moment, actor: Actor & { stage: Picture }, seen: Seen): void {
  const { canvas, x, y } = actor.stage
  const { height } = seen
  const bands = 12
  const part = (actor.subject.reach.up * height * 0.8) / bands
  for (let band = 0; band < bands; band++) {
    const sway = Math.sin(moment.seconds * 2.2 + band * 0.9) * height * 0.012 * (1 + band * 0.25)
    pen.globalAlpha = 0.36 * (1 - band / bands)
    pen.save()
    pen.translate(seen.x + sway - x, seen.y + band * part * 0.7)
    pen.scale(1, -0.7)
    pen.drawImage(canvas, 0, y - (band + 1) * part, canvas.width, part + 1, 0, -part, canvas.width, part + 1)
    pen.restore()
  }
  pen.globalAlpha = 1
}

/** What cannot float stands on a rock. */
export function drawIslet(pen: Pen, stage: Stage, actor: Actor, spot: Spot): void {
  const half =
    (actor.subject.half ?? Math.min(actor.subject.reach.left, actor.subject.reach.right)) * actor.mark.height * 1.25
  const { near, far } = stage.scene.palette
  pen.fillStyle = css(mix(near, far, 0.25))
  pen.beginPath()
  pen.moveTo(spot.x - half, spot.y + half * 0.12)
  pen.bezierCurveTo(
    spot.x - half * 0.7,
    spot.y - half * 0.1,
    spot.x + half * 0.7,
    spot.y - half * 0.1,
    spot.x + half,
    spot.y + half * 0.12,
  )
  pen.closePath()
  pen.fill()
}
