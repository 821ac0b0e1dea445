import type { LandscapeName } from '../scene.ts'
import { beach } from './beach.ts'
import { city } from './city.ts'
import { desert } from './desert.ts'
import { forest } from './forest.ts'
import { hills } from './hills.ts'
import { lake } from './lake.ts'
import type { Landscape } from './landscape.ts'
import { mountains } from './mountains.ts'
import { room } from './room.ts'
import { sea } from './sea.ts'
import { sky } from './sky.ts'
import { space } from './space.ts'
import { underwater } from './underwater.ts'

export const landscapes: Record<LandscapeName, Landscape> = {
  ...{ beach, city, desert, forest, hills, lake },
  ...{ mountains, room, sea, sky, space, underwater },
}
