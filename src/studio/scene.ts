import type { AbstractName } from './abstracts/index.ts'
import { type CastMember, castOf } from './casting.ts'
import { between, type Chance, chanceOf, pick } from './chance.ts'
import {
  type Hour,
  type Palette,
  palettes,
  type Rgb,
  rgb,
  seasoned,
  submerged,
  tinted,
  varied,
  weathered,
} from './palette.ts'
import { type Mention, type Reading, read } from './reading.ts'
import { subjects } from './subjects/index.ts'
import type { Gait, Habitat } from './subjects/subject.ts'
import { colours, type Family } from './vocabulary.ts'

/** What a film shows, decided by its prompt and its seed alone. Lengths are shares of the frame. */
export interface Scene {
  /** Seeds whatever the drawing leaves to chance. */
  seed: string
  landscape: LandscapeName
  /** Set where the prompt says nothing that could be shown: then there is no landscape. */
  abstract: AbstractName | null
  hour: Hour
  weather: Weather
  /** Whether snow lies on the ground. */
  snow: boolean
  /** Whether clouds may pass. */
  cloudy: boolean
  season: Season | null
  life: Life
  palette: Palette
  /** The colour of the whole, if the prompt names one. */
  mood: Rgb | null
  light: { x: number; y: number; radius: number }
  camera: { move: CameraMove; direction: -1 | 1; zoom: number }
  /** What is in it, the most important first. */
  cast: CastMember[]
  /** How they move, if the prompt says so. */
  motion: Gait | null
  /** 1 is the speed of life. */
  pace: number
}

export type LandscapeName =
  | ('hills' | 'mountains' | 'forest' | 'desert' | 'city' | 'room')
  | ('sea' | 'beach' | 'lake' | 'underwater' | 'sky' | 'space')
export type Weather = 'clear' | 'snow' | 'rain' | 'fog' | 'storm' | 'wind'
export type Season = 'spring' | 'summer' | 'autumn' | 'winter'
export type Life = 'birds' | 'fireflies' | 'bubbles' | 'sparks' | 'motes'
export type CameraMove =
  | ('drift' | 'left' | 'right' | 'up' | 'down' | 'in' | 'out')
  | ('orbit' | 'track' | 'aerial' | 'close' | 'shake' | 'still')

/** `earlier`: the prompt of a film that this one changes or continues. It decides the composition, and what is left open. */
export function sceneOf(prompt: string, seed: number | null = null, earlier: string | null = null): Scene {
  const composition = earlier ?? prompt
  const text = seed === null ? composition : `${seed}:${composition}`
  const chance = chanceOf(text)
  // What is said first is meant most.
  const reading = read(prompt, earlier)
  const cast = castOf(reading)
  const landscape = landscapeOf(reading, cast, chance)
  const hour = hourOf(reading, landscape, chance)
  const season = first(reading, 'season')
  const weather = weatherOf(reading, landscape, season)
  const mood = moodOf(reading, cast)
  const light = lightOf(hour, chance)
  return {
    seed: text,
    landscape,
    abstract: isAbstract(reading) ? pick(chance, abstractNames) : null,
    hour,
    weather,
    snow: hasSnow(reading, landscape, weather),
    cloudy: !reading.absent.some(({ family, word }) => family === 'place' && word === 'cloud'),
    season,
    life: first(reading, 'life') ?? defaultLife(reading, { landscape, hour, weather }, chance),
    palette: paletteOf({ landscape, hour, season, weather, mood }, chance),
    mood,
    light,
    camera: {
      move: first(reading, 'camera') ?? 'drift',
      // What looks towards the light stands on the other side of the frame, and does not hide it.
      direction: pick(chance, [-1, 1, 0, 0]) || (light.x < 0.5 ? -1 : 1),
      zoom: between(chance, 0.05, 0.1),
    },
    cast,
    motion: motionOf(reading),
    pace: paceOf(reading) * between(chance, 0.88, 1.14),
  }
}

const abstractNames: readonly [AbstractName, ...AbstractName[]] = [
  'ribbons',
  'orbs',
  'crystals',
  'waves',
  'ink',
  'petals',
]

/** The first mention of a family by its place in the prompt: what is said first is meant most. */
function first<F extends Family>(reading: Reading, family: F): Mention<F>['name'] | null {
  const mention = reading.mentions.find((each): each is Mention<F> & Mention => each.family === family)
  return (mention?.name as Mention<F>['name'] | undefined) ?? null
}

/** What is left to chance is nothing that the prompt excludes. */
function allowed<F extends Family>(
  reading: Reading,
  family: F,
  names: readonly Mention<F>['name'][],
): readonly [Mention<F>['name'], ...Mention<F>['name'][]] {
  const [first, ...others] = names.filter((name) => !excludes(reading, family, name))
  return first === undefined ? (names as [Mention<F>['name']]) : [first, ...others]
}

function excludes(reading: Reading, family: Family, name: string): boolean {
  return reading.absent.some((mention) => mention.family === family && mention.name === name)
}

/** Colours, speeds and cameras can be had without a picture of something; a place, an hour or weather cannot. */
function isAbstract(reading: Reading): boolean {
  const shown: readonly Family[] = ['subject', 'place', 'hour', 'weather', 'season']
  return !reading.mentions.some(({ family }) => shown.includes(family))
}

/** A place that is named, or else where the heaviest subject is at home; then as far as the others can be there. */
function landscapeOf(reading: Reading, cast: readonly CastMember[], chance: Chance): LandscapeName {
  // Clouds are everywhere: another place that is named says more.
  const places = reading.mentions.filter(({ family }) => family === 'place').map(({ name }) => name as LandscapeName)
  const named = places.find((name) => name !== 'sky') ?? places[0] ?? null
  const heaviest = cast.map(({ name }) => subjects[name]).sort((a, b) => b.kilograms - a.kilograms)[0]
  const usual = allowed(reading, 'place', ['hills', 'mountains', 'sea', 'forest', 'desert', 'lake'])
  const place = named ?? heaviest?.home ?? pick(chance, usual)
  const swims = heaviest?.habitat === 'deep' && !isLifted(reading)
  if (swims && (place === 'sea' || (named === null && place === 'underwater'))) return waterFor(cast)
  // A fish may be out of the water, a whale can't: it is heavier than any place on land.
  if (swims && heaviest.kilograms > 1000 && dryPlaces.includes(place)) return waterFor(cast)
  if (place === 'sea') return stands(cast, 'ground') ? 'beach' : 'sea'
  if ((place === 'sky' || (named === null && place === 'space')) && isOnLand(cast)) return 'hills'
  return named === null && dryPlaces.includes(place) && stands(cast, 'surface') ? 'beach' : place
}

const dryPlaces: readonly LandscapeName[] = ['hills', 'mountains', 'forest', 'desert', 'city', 'room']

function stands(cast: readonly CastMember[], ...habitats: Habitat[]): boolean {
  return cast.some(({ name }) => habitats.includes(subjects[name].habitat))
}

/** An astronaut does not count: they can be in space and under water. */
function isOnLand(cast: readonly CastMember[]): boolean {
  return stands(
    cast.filter(({ name }) => subjects[name].home !== 'space'),
    ...(['ground', 'rooted'] as const),
  )
}

/** Under the water, unless another subject has to be above it. */
function waterFor(cast: readonly CastMember[]): LandscapeName {
  if (isOnLand(cast)) return 'beach'
  return stands(cast, 'air', 'surface') ? 'sea' : 'underwater'
}

function isLifted(reading: Reading): boolean {
  const motion = motionOf(reading)
  return (
    motion === 'fly' ||
    motion === 'float' ||
    motion === 'fall' ||
    reading.words.some((word) => word === 'over' || word === 'above')
  )
}

function hourOf(reading: Reading, landscape: LandscapeName, chance: Chance): Hour {
  if (landscape === 'space') return 'night'
  const named = first(reading, 'hour')
  if (named) return named
  if (reading.words.includes('neon') || first(reading, 'life') === 'fireflies') return 'night'
  if (landscape === 'underwater' || landscape === 'room') return pick(chance, ['day', 'day', 'sunset'])
  const hours = ['day', 'day', 'day', 'day', 'dawn', 'dawn', 'sunset', 'sunset', 'sunset', 'night'] as const
  return pick(chance, allowed(reading, 'hour', hours))
}

/** In space and under water there is none; a winter with nothing said is one with snow. */
function weatherOf(reading: Reading, landscape: LandscapeName, season: Season | null): Weather {
  if (landscape === 'space' || landscape === 'underwater') return 'clear'
  const named = first(reading, 'weather')
  return named ?? (season === 'winter' && !excludes(reading, 'weather', 'snow') ? 'snow' : 'clear')
}

/** It need not fall: "fog over the snow". */
function hasSnow({ mentions }: Reading, landscape: LandscapeName, weather: Weather): boolean {
  if (landscape === 'space' || landscape === 'underwater' || landscape === 'room') return false
  return weather === 'snow' || mentions.some(({ family, name }) => family === 'weather' && name === 'snow')
}

function paletteOf(scene: Pick<Scene, 'landscape' | 'hour' | 'season' | 'weather' | 'mood'>, chance: Chance): Palette {
  const base = varied(pick(chance, palettes[scene.hour]), chance)
  const inSeason = scene.season ? seasoned(base, scene.season, scene.hour) : base
  const inPlace =
    scene.landscape === 'underwater' ? submerged(inSeason, scene.hour) : weathered(inSeason, scene.weather, scene.hour)
  return scene.mood ? tinted(inPlace, scene.mood) : inPlace
}

/** A colour that belongs to no subject is the mood of the whole picture; black and white are no moods. */
function moodOf(reading: Reading, cast: readonly CastMember[]): Rgb | null {
  const taken = new Set(cast.flatMap(({ colourAt }) => colourAt))
  for (const mention of reading.mentions) {
    if (mention.family !== 'colour' || taken.has(mention.at)) continue
    const name = mention.name as keyof typeof colours
    if (name !== 'black' && name !== 'white') return rgb(colours[name][0])
  }
  return null
}

/** "Fall" is a season as well as a motion, "still" a camera as well: a motion with no other reading wins. */
function motionOf(reading: Reading): Gait | null {
  const motions = reading.mentions.filter(({ family }) => family === 'motion')
  const verbs = motions.filter(({ word }) => word !== 'fall' && word !== 'still')
  return ((verbs[0] ?? motions[0])?.name as Gait | undefined) ?? null
}

function paceOf(reading: Reading): number {
  const pace = first(reading, 'pace')
  return pace === 'slow' ? 0.5 : pace === 'fast' ? 1.8 : 1
}

function defaultLife(
  reading: Reading,
  { landscape, hour, weather }: Pick<Scene, 'landscape' | 'hour' | 'weather'>,
  chance: Chance,
): Life {
  if (landscape === 'underwater') return 'bubbles'
  if (landscape === 'room' || landscape === 'space') return 'motes'
  const isMeadow = weather !== 'snow' && (landscape === 'hills' || landscape === 'forest')
  const usual: Life =
    hour === 'night' ? (isMeadow ? 'fireflies' : 'motes') : pick<Life>(chance, ['birds', 'motes', 'birds'])
  const isExcluded = excludes(reading, 'life', usual) || (usual === 'birds' && excludes(reading, 'subject', 'bird'))
  return isExcluded ? 'motes' : usual
}

/** Low and large where the day begins or ends, high and small at noon and at night. */
function lightOf(hour: Hour, chance: Chance): Scene['light'] {
  const x = pick(chance, [between(chance, 0.2, 0.4), between(chance, 0.6, 0.8)])
  if (hour === 'sunset' || hour === 'dawn') return { x, y: between(chance, 0.4, 0.5), radius: 0.085 }
  if (hour === 'night') return { x, y: between(chance, 0.16, 0.26), radius: 0.055 }
  return { x, y: between(chance, 0.15, 0.24), radius: 0.05 }
}
