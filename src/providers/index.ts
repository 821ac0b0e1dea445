import type { Media } from '../media/media.ts'
import type { Cards, Provider } from './provider.ts'
import { createStudio, studioCards } from './studio.ts'

export interface Setting {
  /** The provider's own folder in the data folder. */
  folder: string
  media: Media
}

export interface Member {
  readonly cards: Cards
  /** Neither key nor address: it is there without being configured. */
  readonly needsNothing: boolean
  create(setting: Setting): Promise<Provider>
}

/** Every provider by its name, as filmgate.yaml knows it. */
export const providers: Readonly<Record<string, Member>> = {
  studio: { cards: studioCards, needsNothing: true, create: createStudio },
}
