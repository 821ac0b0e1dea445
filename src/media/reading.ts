import { translated } from './translations.ts'
import { type Family, vocabulary } from './vocabulary.ts'

/** A word or phrase of the prompt that means something here. */
export interface Mention<F extends Family = Family> {
  family: F
  name: keyof (typeof vocabulary)[F] & string
  /** The word as the vocabulary has it. */
  word: string
  /** Which word of the prompt it begins with, and how many it takes. */
  at: number
  length: number
  plural: boolean
}

export interface Reading {
  words: string[]
  mentions: Mention[]
}

const longestPhrase = 3
/** More would only make the first film of an endless prompt slower: what matters is said early. */
const mostWords = 2000

/** Splits a prompt into words and finds what they mean: whole words, whatever their case, accents and plural. */
export function read(prompt: string): Reading {
  const words =
    plain(translated(prompt))
      .match(/[\p{L}\p{N}]+/gu)
      ?.slice(0, mostWords) ?? []
  const mentions: Mention[] = []
  for (let at = 0; at < words.length; ) {
    const found = longestAt(words, at)
    mentions.push(...found)
    // Words of a phrase mean nothing more by themselves.
    at += found[0]?.length ?? 1
  }
  return { words, mentions }
}

function longestAt(words: readonly string[], at: number): Mention[] {
  for (let length = Math.min(longestPhrase, words.length - at); length >= 1; length--) {
    const phrase = words.slice(at, at + length).join('_')
    for (const [index, singular] of singulars(phrase).entries()) {
      const meanings = lexicon.get(singular)
      if (meanings) return meanings.map((meaning) => ({ ...meaning, word: singular, at, length, plural: index > 0 }))
    }
  }
  return []
}

/** The word itself, then what it may be the plural of. */
function singulars(word: string): string[] {
  const found = [word]
  if (word.endsWith('ies')) found.push(`${word.slice(0, -3)}y`)
  if (word.endsWith('es')) found.push(word.slice(0, -2))
  if (word.endsWith('s') && word.length > 3) found.push(word.slice(0, -1))
  const irregular = irregulars[word]
  if (irregular) found.push(irregular)
  return found
}

const irregulars: Readonly<Record<string, string>> = {
  ...{ wolves: 'wolf', geese: 'goose', mice: 'mouse', calves: 'calf', oxen: 'ox', men: 'man', women: 'woman' },
  ...{ people: 'person', children: 'child', fungi: 'fungus', cacti: 'cactus', galaxies: 'galaxy' },
}

function plain(text: string): string {
  return text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')
}

const lexicon = new Map<string, Pick<Mention, 'family' | 'name'>[]>()
for (const [family, table] of Object.entries(vocabulary)) {
  for (const [name, words] of Object.entries(table)) {
    for (const word of words.split(' ')) {
      const key = plain(word)
      const meaning = { family, name } as Pick<Mention, 'family' | 'name'>
      lexicon.set(key, [...(lexicon.get(key) ?? []), meaning])
    }
  }
}
