import type { Hour } from './palette.ts'
import type { CameraMove, LandscapeName, Life, Season, Weather } from './scene.ts'
import { type SubjectName, subjects } from './subjects/index.ts'
import type { Gait } from './subjects/subject.ts'

/*
 * Every word that the renderer understands, apart from the subjects, which bring their own. Words are separated by
 * spaces, the words of a phrase by underscores; regular plurals and accents are found without being listed.
 */

type Words<T extends string> = Readonly<Record<T, string>>

const places: Words<LandscapeName> = {
  space:
    'space outer_space galaxy cosmos cosmic nebula universe planet orbit_of mars saturn jupiter moon_surface asteroid comet milky_way espacio weltraum',
  city: 'city town street skyline skyscraper building downtown urban traffic rooftop cyberpunk road highway tokyo new_york london paris shanghai alley bazaar ciudad calle ville rue stadt straße città',
  beach: 'beach shore coast seaside sand island lagoon coastline playa plage strand spiaggia',
  sea: 'sea ocean wave harbor harbour bay surf tide marina atlantic pacific mar océano océan meer mare',
  underwater: 'underwater undersea deep_sea coral reef seabed aquarium submarine bajo_el_agua',
  lake: 'lake river pond stream creek waterfall fjord canal lago río lac rivière fluss fiume',
  mountains:
    'mountain peak alp alpine summit cliff canyon glacier everest himalaya volcano montaña montagne berg montagna',
  forest: 'forest wood woodland jungle rainforest grove bamboo pine bosque forêt wald foresta',
  desert: 'desert dune sahara oasis savanna savannah pyramid egypt desierto désert wüste deserto',
  room: 'room interior indoors inside kitchen bedroom living_room library studio office cafe café sofa fireplace house_interior habitación chambre zimmer',
  sky: 'sky cloud above_the_clouds heaven airborne stratosphere cielo ciel himmel',
  hills:
    'hill field meadow farm valley grass grassland garden village countryside park prairie pasture orchard campo prado champ wiese',
}

const hours: Words<Hour> = {
  night:
    'night midnight moon moonlit moonlight star starry starlight aurora dark darkness neon nocturnal noche nuit nacht notte',
  sunset: 'sunset dusk evening twilight golden_hour sundown lava campfire atardecer coucher abend tramonto',
  dawn: 'dawn sunrise morning daybreak pastel amanecer aube morgen alba',
  day: 'day daylight noon midday sunny sun bright afternoon día jour tag giorno',
}

const weathers: Words<Weather> = {
  clear: 'clear cloudless',
  snow: 'snow snowing snowy snowfall snowflake blizzard nieve neige schnee neve',
  rain: 'rain raining rainy drizzle monsoon shower umbrella lluvia pluie regen pioggia',
  fog: 'fog foggy mist misty haze hazy smoke smoky cloudy niebla brouillard nebel nebbia',
  storm: 'storm stormy thunder thunderstorm lightning tempest hurricane tormenta orage sturm tempesta',
  wind: 'wind windy breeze breezy gust gale tornado viento vent',
}

const seasons: Words<Season> = {
  autumn: 'autumn autumnal fall_leaves leaves fall_colors foliage october november otoño automne herbst autunno',
  winter: 'winter wintry christmas ice icy frozen frost frosty arctic antarctica polar january invierno hiver',
  spring: 'spring springtime blossom cherry_blossom sakura bloom blooming petal april primavera printemps frühling',
  summer: 'summer summertime tropical july august verano été sommer estate',
}

const gaits: Words<Gait> = {
  run: 'run running runs ran sprint sprinting gallop galloping race racing chase chasing rushing speeding driving corriendo',
  walk: 'walk walking walks stroll strolling wander wandering hike hiking march marching wade crossing',
  fly: 'fly flying flies flew soar soaring glide gliding hover hovering volando',
  swim: 'swim swimming swims dive diving surfing snorkeling nadando',
  dance: 'dance dancing dances twirl twirling spin spinning waltz bailando',
  float: 'float floating floats drift drifting levitate levitating weightless',
  fall: 'fall falling falls plunge plunging tumble tumbling drop dropping',
  jump: 'jump jumping jumps leap leaping hop hopping bounce bouncing',
  idle: 'stand standing sit sitting sleep sleeping rest resting wait waiting still watching',
}

const paces: Words<'slow' | 'fast'> = {
  slow: 'slow slowly slow_motion slow_mo calm calmly gentle gently peaceful serene quiet tranquil lazy',
  fast: 'fast quick quickly rapid rapidly hyperlapse timelapse time_lapse frantic energetic speed dynamic',
}

const cameras: Words<Exclude<CameraMove, 'drift'>> = {
  left: 'pan_left pans_left panning_left to_the_left leftward',
  right: 'pan_right pans_right panning_right to_the_right pan panning panorama panoramic',
  up: 'tilt_up tilts_up tilting_up tilt crane_up rising_shot pedestal_up look_up',
  down: 'tilt_down tilts_down tilting_down crane_down descending look_down',
  in: 'zoom_in zooms_in zooming_in zoom push_in dolly dolly_in move_in approaching',
  out: 'zoom_out zooms_out zooming_out pull_out pull_back dolly_out reveal',
  orbit: 'orbit orbiting orbits arc_shot circling rotate_around 360',
  track: 'track tracking tracking_shot follow following follows steadicam',
  aerial:
    'aerial drone_shot drone_view birds_eye bird_eye overhead from_above top_down flyover establishing_shot wide_shot',
  close: 'close_up closeup macro portrait extreme_close detail',
  shake: 'handheld shaky shaking found_footage',
  still: 'static_shot static locked tripod fixed_camera still_camera',
}

const lives: Words<Life> = {
  birds: 'flock_of_birds flock',
  fireflies: 'firefly magic magical fairy_light lantern dream dreamy glowing enchanted',
  bubbles: 'bubble',
  sparks: 'spark ember fire flame firework burning',
  motes: 'dust mote pollen',
}

export const colours = {
  red: ['#d23a35', 'red crimson scarlet ruby rojo roja rouge rot rosso'],
  orange: ['#ec8426', 'orange amber copper tangerine naranja'],
  yellow: ['#efc52f', 'yellow lemon amarillo jaune gelb giallo'],
  gold: ['#d9a832', 'gold golden dorado doré'],
  green: ['#3f9f52', 'green emerald jade olive mint verde vert grün'],
  teal: ['#1fa5a0', 'teal turquoise cyan aqua'],
  blue: ['#2f6fd6', 'blue azure sapphire navy cobalt azul bleu blau blu'],
  purple: ['#8450cf', 'purple violet lavender indigo lilac morado lila viola'],
  pink: ['#ea74ab', 'pink magenta fuchsia rosado'],
  brown: ['#7d5233', 'brown chestnut chocolate bronze marrón brun braun'],
  white: ['#f4f2ec', 'white ivory pearl blanco blanca blanc weiß bianco'],
  black: ['#26252d', 'black ebony jet_black negro noir schwarz nero'],
  grey: ['#8b9099', 'grey gray silver gris grau grigio'],
} as const satisfies Record<string, readonly [hex: string, words: string]>

export type ColourName = keyof typeof colours

/** Words for a subject that say its colour as well. */
export const shades: Readonly<Record<string, string>> = {
  ...{ crow: '#23242c', raven: '#23242c', swan: '#f6f3ec', dove: '#f1efe8', gull: '#eef0f2', seagull: '#eef0f2' },
  ...{
    goose: '#e9e4da',
    flamingo: '#f28bab',
    parrot: '#3fae5a',
    robin: '#b8603c',
    duck: '#7a6a4a',
    hummingbird: '#2fa88a',
  },
  ...{
    unicorn: '#f6f0fa',
    zebra: '#e9e7e2',
    donkey: '#8a8078',
    camel: '#c79a62',
    orca: '#20242c',
    dolphin: '#8199ae',
    shark: '#7c8a98',
  },
  ...{
    panther: '#26232b',
    leopard: '#d9ab55',
    cheetah: '#dcae5c',
    fennec: '#e6c48e',
    coyote: '#a58a66',
  },
  ...{ sunflower: '#f3c22c', daisy: '#f7f4ea', tulip: '#e2483d', lotus: '#f2b6cf', poppy: '#e0402f', rose: '#cf2f45' },
  ...{
    sakura: '#f3a9c4',
    taxi: '#f1ba20',
    bee: '#efb722',
    octopus: '#d0604f',
    squirrel: '#b0622f',
    phoenix: '#e8622a',
  },
  ...{
    ladybug: '#d8342c',
    corgi: '#d99a55',
    koi: '#f07a3a',
    clownfish: '#f5792a',
    mouse: '#9b969a',
    wizard: '#4a3f8f',
  },
}

const numbers: Readonly<Record<string, number>> = {
  ...{
    two: 2,
    three: 3,
    four: 4,
    five: 5,
    six: 6,
    seven: 7,
    eight: 8,
    nine: 9,
    ten: 10,
    dozen: 12,
    pair: 2,
    couple: 2,
    pareja: 2,
    paar: 2,
    coppia: 2,
    twins: 2,
  },
  ...{
    few: 3,
    several: 4,
    many: 7,
    flock: 7,
    herd: 6,
    swarm: 9,
    school: 8,
    pack: 5,
    group: 4,
    crowd: 8,
    fleet: 5,
    bunch: 5,
  },
  ...{
    hundred: 12,
    thousand: 12,
    army: 8,
    family: 4,
    some: 3,
    dos: 2,
    tres: 3,
    deux: 2,
    trois: 3,
    zwei: 2,
    drei: 3,
    due: 2,
  },
}

export function numberOf(word: string): number | undefined {
  if (/^\d{1,3}$/.test(word)) return Number(word)
  return numbers[word] ?? numbers[word.replace(/s$/, '')]
}

const subjectWords = Object.fromEntries(
  Object.entries(subjects).map(([name, subject]) => [name, subject.words]),
) as Words<SubjectName>

const colourWords = Object.fromEntries(
  Object.entries(colours).map(([name, [, words]]) => [name, words]),
) as Words<ColourName>

/** All families, in the order in which the documentation shows them. */
export const vocabulary = {
  subject: subjectWords,
  place: places,
  hour: hours,
  weather: weathers,
  season: seasons,
  colour: colourWords,
  motion: gaits,
  pace: paces,
  camera: cameras,
  life: lives,
} as const

export type Family = keyof typeof vocabulary
