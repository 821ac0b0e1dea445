import { crystals } from './crystals.ts'
import { ink } from './ink.ts'
import { orbs } from './orbs.ts'
import { petals } from './petals.ts'
import { ribbons } from './ribbons.ts'
import { waves } from './waves.ts'

export const abstracts = { crystals, ink, orbs, petals, ribbons, waves }

export type AbstractName = keyof typeof abstracts
