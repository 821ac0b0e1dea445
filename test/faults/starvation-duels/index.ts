import { bodies } from './bodies.ts'
import { dripping } from './dripping.ts'
import type { Duel } from './duel.ts'
import { fieldNames } from './field-names.ts'
import { films } from './films.ts'
import { images } from './images.ts'
import { names } from './names.ts'
import { pages } from './pages.ts'
import { pictures } from './pictures.ts'
import { uploads } from './uploads.ts'
import { webhooks } from './webhooks.ts'
import { withheld } from './withheld.ts'

/** Every duel by its name, as `--duel` has it. */
export const duels = {
  'field-names': fieldNames,
  names,
  dripping,
  images,
  webhooks,
  uploads,
  pictures,
  bodies,
  pages,
  films,
  withheld,
} satisfies Readonly<Record<string, Duel>>

export type DuelName = keyof typeof duels
