import type { Actor, Spot } from './actor.ts'
import { runs } from './camera.ts'
import type { Place } from './landscapes/landscape.ts'
import { type Moment, parallax, type Stage } from './stage.ts'

/** Where it is now: with the land, or going along with the camera and drifting through the frame. */
export function spotOf(moment: Moment, stage: Stage, place: Place, actor: Actor): Spot {
  const { size, unit, scene } = stage
  const { mark } = actor
  const { seconds, share } = moment
  const along = runs(scene) ? 0.1 : mark.gait === 'idle' || mark.gait === 'dance' ? 0 : 0.055
  const own = mark.rooted ? parallax(moment, actor.depth) : (share - 0.5) * 2 * along * size.width * mark.face
  const x = mark.x * size.width + own
  const sway = Math.sin(seconds * 0.9 + mark.phase * 6.28)
  const inLayer = x - parallax(moment, actor.depth)
  if (mark.lane === 'floor' || mark.lane === 'water') {
    const level = mark.lane === 'water' ? (place.water ?? place.floor) : place.floor
    // One line for all parts of what spans the frame: it neither swims nor follows the land.
    if (actor.subject.spans) return { x, y: level.at(size.width / 2, 0), up: 0, turn: 0 }
    const at = (where: number) => level.at(where, seconds)
    const slope = Math.atan2(at(inLayer + unit * 0.04) - at(inLayer - unit * 0.04), unit * 0.08)
    const hop = mark.gait === 'jump' ? Math.abs(Math.sin((seconds * 0.8 + mark.phase) * Math.PI)) * unit * 0.1 : 0
    const turn = mark.lane === 'water' ? slope * 0.8 + sway * 0.02 : mark.rooted ? 0 : slope * 0.7
    return { x, y: at(inLayer) - mark.y * mark.height * 0.3, up: hop, turn }
  }
  const falls = mark.gait === 'fall' || (scene.motion === 'fall' && mark.lane === 'air')
  const y =
    size.height * (falls ? mark.y - 0.2 + 0.42 * share : mark.y) + sway * unit * (mark.gait === 'float' ? 0.022 : 0.012)
  const drift = scene.landscape === 'space' ? 0.16 * Math.sin(seconds * 0.35 + mark.phase * 5) : 0
  const turn = falls
    ? Math.sin(seconds * 1.2 + mark.phase) * 0.5
    : drift + 0.04 * Math.cos(seconds * 0.9 + mark.phase * 6.28)
  const lower =
    actor.subject.habitat === 'ground' || actor.subject.habitat === 'rooted' || actor.subject.habitat === 'surface'
      ? mark.height * 0.5
      : 0
  return { x, y: y + lower, up: 0, turn }
}
