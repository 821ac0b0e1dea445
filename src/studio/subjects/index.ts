import { balloon, plane, rocket, saucer } from './aircraft.ts'
import { bridge, castle, house, lighthouse, windmill } from './buildings.ts'
import { dog, fox, wolf } from './canines.ts'
import { dragon } from './dragon.ts'
import { jellyfish, turtle } from './drifters.ts'
import { cat, lion, tiger } from './felines.ts'
import { bear, elephant, panda, rabbit } from './heavy.ts'
import { cow, deer, horse, sheep } from './hoofed.ts'
import { penguin } from './penguin.ts'
import { dancer, person, woman } from './people.ts'
import { cactus, flower, mushroom, tree } from './plants.ts'
import { astronaut, robot } from './suited.ts'
import { fish, whale } from './swimmers.ts'
import { boat, ship } from './vessels.ts'
import { bicycle, bus, car, train } from './wheeled.ts'
import { bird, butterfly, eagle, owl } from './winged.ts'

export const subjects = {
  ...{ fox, wolf, dog, cat, lion, tiger, bear, panda, rabbit, elephant, horse, deer, cow, sheep, penguin },
  ...{ bird, eagle, owl, butterfly, dragon, fish, whale, turtle, jellyfish },
  ...{ boat, ship, car, bus, train, bicycle, plane, rocket, balloon, saucer },
  ...{ tree, flower, mushroom, cactus, house, castle, lighthouse, windmill, bridge },
  ...{ person, woman, dancer, astronaut, robot },
}

export type SubjectName = keyof typeof subjects
