import type { Size } from '../core/task.ts'
import { facing, runs } from './camera.ts'
import type { CastMember } from './casting.ts'
import { between, type Chance, chanceOf } from './chance.ts'
import type { Scene } from './scene.ts'
import { type SubjectName, subjects } from './subjects/index.ts'
import type { Gait, Subject } from './subjects/subject.ts'

/** Where one subject is, and what it does there. Places are shares of the frame. */
export interface Mark {
  name: SubjectName
  member: CastMember
  lane: Lane
  gait: Gait
  x: number
  /** In the air and in the deep: its height in the frame. On a floor: how far behind the line it stands, in heights. */
  y: number
  /** In pixels. */
  height: number
  /** -1 looks to the left. */
  face: -1 | 1
  phase: number
  /** Stays with the land while the camera passes, instead of going along. */
  rooted: boolean
}

type Lane = 'floor' | 'water' | 'air' | 'deep'

/** Pure: decides the composition of a scene for a size of frame. The farthest come first. */
export function blockingOf(
  scene: Scene,
  frame: { size: Size; unit: number; medium: 'air' | 'water' | 'void'; water: boolean },
): Mark[] {
  const chance = chanceOf(`blocking:${scene.seed}`)
  const lanes = new Map<Lane, CastMember[]>()
  for (const member of scene.cast) {
    const lane = laneOf(scene, member, frame)
    lanes.set(lane, [...(lanes.get(lane) ?? []), member])
  }
  const nearest = lanes.has('floor') ? 'floor' : lanes.has('water') ? 'water' : [...lanes.keys()][0]
  const marks = [...lanes].flatMap(([lane, members]) =>
    members.flatMap((member, index) => {
      const above = lane !== 'deep' && lane !== nearest
      const slot = slotOf(scene, { index, of: members.length, above }, frame.size, chance)
      return placed(scene, { member, lane, slot, frame }, chance)
    }),
  )
  const order = { air: 0, water: 1, deep: 2, floor: 3 }
  return marks.sort((a, b) => order[a.lane] - order[b.lane] || a.height - b.height)
}

function laneOf(scene: Scene, member: CastMember, frame: { medium: string; water: boolean }): Lane {
  const { habitat } = subjects[member.name]
  const lifted = scene.motion === 'fly' || scene.motion === 'float' || scene.motion === 'fall'
  if (frame.medium === 'water')
    return habitat === 'ground' && scene.motion !== 'swim' && scene.motion !== 'float'
      ? 'floor'
      : habitat === 'rooted'
        ? 'floor'
        : 'deep'
  if (frame.medium === 'void') return 'deep'
  if (habitat === 'air') return 'air'
  if (habitat === 'surface') return frame.water ? 'water' : 'floor'
  if (habitat === 'deep') return frame.water && !lifted ? 'water' : 'air'
  if (subjects[member.name].spans && frame.water) return 'water'
  const flyers = scene.cast.some(({ name }) => subjects[name].habitat === 'air')
  return habitat === 'ground' && lifted && !flyers ? 'air' : 'floor'
}

interface Slot {
  x: number
  width: number
}

/** One subject stands on a third and looks into the free part; one behind or above others takes the other third; several share. */
function slotOf(scene: Scene, place: { index: number; of: number; above: boolean }, size: Size, chance: Chance): Slot {
  const jitter = between(chance, -0.035, 0.035)
  if (place.of === 1) {
    const narrow = size.width < size.height * 0.75
    const off = narrow || (runs(scene) && !place.above) ? 0.03 : 0.155
    const side = place.above ? -1 : 1
    return { x: 0.5 - facing(scene) * off * side + jitter, width: narrow ? 0.86 : 0.56 }
  }
  const width = 0.84 / place.of
  return { x: 0.08 + width * (place.index + 0.5) + jitter * 0.5, width }
}

const crowd = (count: number) => (count === 1 ? 1 : count === 2 ? 0.82 : count === 3 ? 0.7 : count <= 5 ? 0.58 : 0.46)

interface Placing {
  member: CastMember
  lane: Lane
  slot: Slot
  frame: { size: Size; unit: number }
}

function heightOf(scene: Scene, { member, lane, slot, frame }: Placing): number {
  const subject = subjects[member.name]
  if (subject.spans) return Math.min(frame.size.width * 0.3, frame.size.height * 0.5)
  const close = scene.camera.move === 'close' ? 1.5 : scene.camera.move === 'aerial' ? 0.6 : 1
  const company = scene.cast.length === 1 ? 1.16 : scene.cast.length === 2 ? 1 : 0.86
  const far = lane === 'water' ? 0.85 : 1
  const wanted = subject.height * frame.unit * close * company * far * crowd(member.count)
  const across = 2 * halfOf(subject)
  const room =
    (slot.width * frame.size.width * (member.count > 1 ? 1.5 : 1.12)) / (across * Math.max(1, member.count * 0.62))
  return Math.min(wanted, room, (frame.size.height * 0.58) / subject.reach.up)
}

function placed(scene: Scene, placing: Placing, chance: Chance): Mark[] {
  const { member, lane, slot, frame } = placing
  const subject = subjects[member.name]
  const height = heightOf(scene, placing)
  const gait = gaitOf(scene, member, lane)
  if (subject.spans) return spanned(placing, height)
  const side = facing(scene)
  const altitude = lane === 'air' || lane === 'deep' ? altitudeOf(scene, member, lane, chance) : 0
  const across = halfOf(subject) * 2 * height
  const step =
    lane === 'floor' || lane === 'water'
      ? rowStep(member.count, across, slot.width, frame.size)
      : cloudWidth(member.count, across, frame.size) / member.count
  // What swims has its back out of the water, and does not lie on the shore.
  const afloat = subject.habitat === 'deep' ? 0.5 : 0
  // What moves needs room for its way as well.
  const way = subject.habitat === 'rooted' || gait === 'idle' ? 0 : 0.05
  const group = (step * (member.count - 1)) / 2 + across / 2 / frame.size.width + way
  return Array.from({ length: member.count }, (_, index) => {
    const spot = scatter({ index, count: member.count, lane, across, frame, width: slot.width }, chance)
    return {
      ...{ name: member.name, member, lane, gait },
      x: Math.max(0.03, Math.min(0.97, kept(slot.x, group) + spot.x)),
      y: altitude
        ? kept(altitude + spot.y, (subject.reach.up * height) / frame.size.height + 0.02)
        : spot.back + afloat,
      height: height * spot.scale,
      face:
        gait === 'idle' && scene.cast.indexOf(member) > 0 && subject.habitat !== 'rooted' ? (-side as -1 | 1) : side,
      phase: index === 0 ? chance() * 0.3 : chance(),
      rooted: subject.habitat === 'rooted',
    }
  })
}

/** As many, end to end, as it takes to go from side to side, however far the camera travels. */
function spanned({ member, lane, frame }: Placing, height: number): Mark[] {
  const { left, right } = subjects[member.name].reach
  const step = ((left + right) * height) / frame.size.width
  const count = Math.min(9, Math.ceil((1.1 + (0.7 * frame.unit) / frame.size.width) / step))
  return Array.from({ length: count }, (_, index) => ({
    ...{ name: member.name, member, lane, height, y: 0, face: 1 as const, phase: 0 },
    ...{ gait: 'idle' as const, rooted: true, x: 0.5 + (index - (count - 1) / 2) * step },
  }))
}

/** Half of the width of its body, in heights. What is only light or smoke does not count. */
function halfOf({ half, rolls, reach }: Subject): number {
  return half ?? (rolls ? reach.left : Math.max(reach.left, reach.right))
}

/** Inside the frame, if it is not too large for that. */
function kept(at: number, half: number): number {
  return half > 0.48 ? 0.5 : Math.max(half + 0.02, Math.min(0.98 - half, at))
}

function altitudeOf(scene: Scene, member: CastMember, lane: Lane, chance: Chance): number {
  const { altitude = 0.35 } = subjects[member.name]
  if (lane === 'deep') return between(chance, 0.4, 0.5)
  const shared = scene.cast.some(
    ({ name }) => ['ground', 'rooted', 'surface'].includes(subjects[name].habitat) && name !== member.name,
  )
  return (shared ? altitude * 0.74 : altitude) + between(chance, -0.03, 0.03)
}

interface Crowd {
  index: number
  count: number
  lane: Lane
  across: number
  frame: { size: Size; unit: number }
  width: number
}

/** Members of a group: a loose row on the ground, a loose cloud in the air; never one behind another. */
function scatter(crowd: Crowd, chance: Chance): { x: number; y: number; back: number; scale: number } {
  const { index, count, lane, across, frame } = crowd
  const jitter = between(chance, -1, 1)
  if (count === 1) return { x: 0, y: 0, back: 0, scale: 1 }
  const place = index - (count - 1) / 2
  if (lane === 'floor' || lane === 'water') {
    const step = rowStep(count, across, crowd.width, frame.size)
    const row = index % 2
    return {
      x: place * step + jitter * step * 0.12,
      y: 0,
      back: row * 0.16 + (jitter + 1) * 0.02,
      scale: 1 - row * 0.14,
    }
  }
  const spread = cloudWidth(count, across, frame.size)
  const band = Math.min(0.3, (frame.unit * 0.34) / frame.size.height)
  return {
    x: (place / count) * spread + jitter * 0.02,
    y: (((index * 0.618 + 0.2) % 1) - 0.5) * band * 1.3 + jitter * 0.02,
    back: 0,
    scale: 1 - 0.3 * ((index * 0.382) % 1),
  }
}

/** From one to the next of a row, in shares of the width. */
function rowStep(count: number, across: number, width: number, size: Size): number {
  const fitting = Math.max(0.04, (0.9 - across / size.width) / Math.max(1, count - 1))
  return Math.min((across * 0.98) / size.width, (width * 1.3) / count, fitting)
}

function cloudWidth(count: number, across: number, size: Size): number {
  return Math.min(0.84, (across * 0.92 * count) / size.width)
}

function gaitOf(scene: Scene, member: CastMember, lane: Lane): Gait {
  const { habitat, rolls } = subjects[member.name]
  if (habitat === 'rooted') return 'idle'
  if (lane === 'deep' && habitat !== 'deep') return scene.motion === 'swim' ? 'swim' : 'float'
  if (habitat === 'deep') return scene.motion === 'idle' ? 'float' : 'swim'
  if (habitat === 'air')
    return scene.motion === 'float' || scene.motion === 'idle' || scene.motion === 'fall' ? scene.motion : 'fly'
  if (habitat === 'surface') return scene.motion ?? 'float'
  if (rolls) return scene.motion === 'idle' ? 'idle' : (scene.motion ?? 'run')
  return scene.motion ?? 'walk'
}
