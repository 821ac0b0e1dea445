import type { LandscapeName } from '../scene.ts'
import { city } from './city.ts'
import { desert } from './desert.ts'
import { forest } from './forest.ts'
import { hills } from './hills.ts'
import type { Landscape } from './landscape.ts'
import { mountains } from './mountains.ts'
import { sea } from './sea.ts'
import { space } from './space.ts'

export const landscapes: Record<LandscapeName, Landscape> = { city, desert, forest, hills, mountains, sea, space }
