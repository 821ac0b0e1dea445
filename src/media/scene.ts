import { between, type Chance, chanceOf, pick } from './chance.ts'
import { type Hour, type Palette, palettes, type Rgb, rgb, tinted } from './palette.ts'

/** What a film shows, decided by its prompt alone. Lengths are shares of the frame. */
export interface Scene {
  /** Seeds whatever the drawing leaves to chance. */
  seed: string
  landscape: LandscapeName
  hour: Hour
  weather: Weather
  life: Life
  palette: Palette
  light: { x: number; y: number; radius: number }
  camera: { direction: -1 | 1; zoom: number }
}

export type LandscapeName = 'hills' | 'mountains' | 'sea' | 'city' | 'forest' | 'desert' | 'space'
export type Weather = 'clear' | 'snow' | 'rain' | 'fog'
export type Life = 'birds' | 'fireflies' | 'motes'

type Words<T extends string> = readonly (readonly [T, RegExp])[]

/** Whole words, with the endings of English plurals; the first match in the prompt wins. */
const words = (list: string): RegExp => new RegExp(`\\b(?:${list.trim().replace(/\s+/g, '|')})(?:s|es|y)?\\b`, 'i')

const landscapeWords: Words<LandscapeName> = [
  [
    'space',
    words(`space galaxy galaxies planet cosmos cosmic nebula nebulae astronaut spaceship rocket orbit universe mars
           saturn asteroid comet alien`),
  ],
  [
    'city',
    words(`city cities town street skyline skyscraper building downtown urban neon traffic taxi subway rooftop cyberpunk
           tokyo york london paris shanghai`),
  ],
  [
    'sea',
    words(`sea ocean wave beach coast shore surf surfer boat ship sail sailing sailboat harbor harbour island lake whale
           dolphin fish lighthouse tide underwater`),
  ],
  [
    'mountains',
    words(`mountain peak alp alpine summit cliff canyon glacier everest himalaya volcano ski skier climber eagle`),
  ],
  ['forest', words(`forest wood woods tree pine jungle fox wolf wolves deer bear owl cabin campfire woodland bamboo`)],
  ['desert', words(`desert dune sand sahara camel cactus oasis pyramid egypt`)],
  [
    'hills',
    words(`hill field meadow farm valley grass flower garden village horse sheep dog cat countryside park prairie`),
  ],
]

const hourWords: Words<Hour> = [
  ['night', words('night midnight moon moonlit moonlight star starry stars firefly fireflies aurora dark neon')],
  ['sunset', words('sunset dusk evening twilight golden fire lava campfire')],
  ['dawn', words('dawn sunrise morning pastel')],
  ['day', words('day daylight noon sunny sun summer bright')],
]

const weatherWords: Words<Weather> = [
  ['snow', words('snow snowing snowfall blizzard winter christmas ice icy frozen arctic')],
  ['rain', words('rain raining rainy storm stormy thunder drizzle monsoon')],
  ['fog', words('fog foggy mist misty haze hazy smoke cloudy')],
]

const lifeWords: Words<Life> = [
  ['birds', words('bird eagle gull seagull crow swallow flock flying')],
  ['fireflies', words('firefly fireflies magic magical fairy fairies lantern dream dreamy')],
]

const tintWords: readonly (readonly [Rgb, RegExp])[] = [
  [rgb('#d8343a'), words('red crimson scarlet ruby')],
  [rgb('#f08a24'), words('orange amber copper')],
  [rgb('#e8c22e'), words('yellow gold golden')],
  [rgb('#3aa655'), words('green emerald jade')],
  [rgb('#1fa3a3'), words('teal turquoise cyan aqua')],
  [rgb('#2f6fe0'), words('blue azure sapphire')],
  [rgb('#8a4fd6'), words('purple violet lavender indigo')],
  [rgb('#e86aa6'), words('pink magenta rose')],
]

export function sceneOf(prompt: string): Scene {
  const chance = chanceOf(prompt)
  const landscape =
    named(landscapeWords, prompt) ?? pick(chance, ['hills', 'mountains', 'sea', 'forest', 'desert', 'city'])
  const hour =
    landscape === 'space' ? 'night' : (named(hourWords, prompt) ?? pick(chance, ['day', 'dawn', 'sunset', 'night']))
  const base = pick(chance, palettes[hour])
  const tint = named(tintWords, prompt)
  return {
    seed: prompt,
    landscape,
    hour,
    weather: landscape === 'space' ? 'clear' : (named(weatherWords, prompt) ?? 'clear'),
    life: named(lifeWords, prompt) ?? defaultLife(landscape, hour, chance),
    palette: tint ? tinted(base, tint) : base,
    light: lightOf(hour, chance),
    camera: { direction: pick(chance, [-1, 1]), zoom: between(chance, 0.05, 0.09) },
  }
}

/** The first entry by its place in the prompt, not in the table: what is said first is meant most. */
function named<T>(table: readonly (readonly [T, RegExp])[], prompt: string): T | undefined {
  let best: { at: number; name: T } | undefined
  for (const [name, pattern] of table) {
    const at = prompt.search(pattern)
    if (at >= 0 && (!best || at < best.at)) best = { at, name }
  }
  return best?.name
}

function defaultLife(landscape: LandscapeName, hour: Hour, chance: Chance): Life {
  if (hour === 'night') return landscape === 'hills' || landscape === 'forest' ? 'fireflies' : 'motes'
  return pick(chance, ['birds', 'motes', 'birds'])
}

/** Low and large where the day begins or ends, high and small at noon and at night. */
function lightOf(hour: Hour, chance: Chance): Scene['light'] {
  const x = pick(chance, [between(chance, 0.2, 0.4), between(chance, 0.6, 0.8)])
  if (hour === 'sunset' || hour === 'dawn') return { x, y: between(chance, 0.42, 0.52), radius: 0.085 }
  if (hour === 'night') return { x, y: between(chance, 0.16, 0.26), radius: 0.055 }
  return { x, y: between(chance, 0.15, 0.24), radius: 0.05 }
}
