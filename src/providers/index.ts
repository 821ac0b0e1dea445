import type { CardTemplate } from '../core/catalog.ts'
import type { Media } from '../media/media.ts'
import { ark } from './ark.ts'
import { fal } from './fal.ts'
import { google } from './google.ts'
import { kling } from './kling.ts'
import { openai } from './openai.ts'
import type { Cards, Provider } from './provider.ts'
import { replicate } from './replicate.ts'
import { createStudio, studioCards } from './studio.ts'
import { vertex } from './vertex.ts'

export interface Setting {
  /** The provider's own folder in the data folder. */
  folder: string
  media: Media
}

export interface Member {
  readonly cards: Cards
  /** Neither key nor address: it is there without being configured. */
  readonly needsNothing: boolean
  /**
   * How many tasks an account takes beyond its slots, each of an owner that has no other there. Only for work that shares
   * this machine: what a vendor allows an account is never exceeded.
   */
  readonly spareSlots?: number
  /** Where it is unless filmgate.yaml says otherwise. */
  readonly baseUrl?: string
  /** Its key. The vendor's usual environment variable is enough to have an account there. */
  readonly key?: KeyRule
  /** What a model is like that it does not list. */
  readonly unlisted?: CardTemplate
  /** What else it may call a model beside its cards: an endpoint of the operator's own, a model newer than the cards. */
  readonly otherNames?: RegExp
  create(setting: Setting): Promise<Provider>
}

export interface KeyRule {
  readonly variable: string
  /** The variable names a file of JSON, which is the key. */
  readonly isFile?: true
}

/** Every provider by its name, as filmgate.yaml knows it. */
export const providers = {
  // Each film that is drawn takes memory.
  studio: { cards: studioCards, needsNothing: true, spareSlots: 2, create: createStudio },
  ark,
  fal,
  google,
  kling,
  replicate,
  vertex,
  openai,
} satisfies Readonly<Record<string, Member>>
