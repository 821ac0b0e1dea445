import {
  alternatives,
  connectors,
  definites,
  dropNames,
  excluder,
  indefinites,
  isFiller,
  locators,
  negators,
  plain,
  restrictors,
} from './grammar.ts'
import { translated } from './translations.ts'
import { type Family, numberOf, vocabulary } from './vocabulary.ts'

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
  /** What the prompt says is not there: "no dogs". */
  absent: Mention[]
  /** Words that mean nothing here, each once. */
  unknown: string[]
  /** How many of the words are from the prompt itself. The others are from the prompt of an earlier film. */
  own: number
}

const longestPhrase = 3
/** Later words are ignored: they would only slow down very long prompts. */
const mostWords = 2000

/**
 * Splits a prompt into words and finds what they mean: whole words, whatever their case, accents and plural. An earlier
 * prompt is read after it, without whatever the prompt excludes.
 */
export function read(prompt: string, earlier: string | null = null): Reading {
  const now = readText(prompt)
  const own = now.words.length
  if (earlier === null) return { ...now, own }
  const before = readText(earlier)
  const isSame = (one: Mention) => (other: Mention) => one.family === other.family && one.name === other.name
  const shifted = (mentions: readonly Mention[]) => mentions.map((each) => ({ ...each, at: each.at + own }))
  return {
    words: [...now.words, ...before.words],
    mentions: [...now.mentions, ...shifted(before.mentions).filter((each) => !now.absent.some(isSame(each)))],
    absent: [...now.absent, ...shifted(before.absent).filter((each) => !now.mentions.some(isSame(each)))],
    unknown: now.unknown,
    own,
  }
}

function readText(text: string): Omit<Reading, 'own'> {
  const { words, pauses } = split(text)
  const found = new Map<number, Mention[]>()
  const unknown = new Set<string>()
  for (let at = 0; at < words.length; ) {
    const here = longestAt(words, at)
    if (here.length > 0) found.set(at, here)
    const word = words[at] ?? ''
    if (here.length === 0 && !isFiller(word) && numberOf(word) === undefined) unknown.add(word)
    // Words of a phrase mean nothing more by themselves.
    at += here[0]?.length ?? 1
  }
  const excluded = excludedOf({ words, pauses, found })
  const all = [...found.values()].flat()
  return {
    words,
    mentions: all.filter((mention) => !excluded.has(mention)),
    absent: all.filter((mention) => excluded.has(mention)),
    unknown: [...unknown],
  }
}

/** `pauses`: the numbers of the words with a comma, or a stop of any other sort, before them. */
function split(text: string): { words: string[]; pauses: ReadonlySet<number> } {
  const letters = plain(translated(dropNames(text.normalize('NFC')).replace(/-free(?!\p{L})/giu, ` ${excluder} `)))
  const words: string[] = []
  const pauses = new Set<number>()
  let end = 0
  for (const { 0: word, index } of letters.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (/[^\s'’-]/.test(letters.slice(end, index))) pauses.add(words.length)
    if (words.push(word) === mostWords) break
    end = index + word.length
  }
  return { words, pauses }
}

interface Text {
  words: readonly string[]
  pauses: ReadonlySet<number>
  /** By the word that they begin with. */
  found: ReadonlyMap<number, readonly Mention[]>
}

function excludedOf(text: Text): Set<Mention> {
  const excluded = new Set<Mention>()
  for (const [at, word] of text.words.entries()) {
    const isNegator = negators.has(word) && !restrictors.has(text.words[at + 1] ?? '')
    const those = isNegator ? excludedAfter(text, at + 1) : word === excluder ? excludedBefore(text, at) : []
    for (const mention of those) excluded.add(mention)
  }
  return excluded
}

/** "no dogs, cats or birds in the park": as far as the list goes. */
function excludedAfter(text: Text, from: number): Mention[] {
  const excluded: Mention[] = []
  for (let place = firstAfter(text, from); place !== null; ) {
    const { mentions, end } = phraseAt(text, place)
    excluded.push(...mentions)
    place = nextOfList(text, end)
  }
  return excluded
}

/** "not in the city", "no other big dogs": one unknown word may come before what is excluded, and any small ones. */
function firstAfter({ words, pauses, found }: Text, from: number): number | null {
  let strangers = 0
  for (let place = from; place < words.length && !pauses.has(place); place++) {
    const here = found.get(place)
    // "a man with no hat walking": the walk is the man's.
    if (here) return strangers > 0 && here.every(isManner) ? null : place
    const word = words[place] ?? ''
    const isArticle = definites.has(word) || indefinites.has(word)
    const isLocated = place === from && words[from - 1] === 'not' && locators.has(word)
    // "without a doubt a fox": an article begins another phrase.
    if (isArticle && strangers > 0) return null
    if (!isArticle && !isLocated && numberOf(word) === undefined) strangers += 1
    if (strangers > 1) return null
  }
  return null
}

/** "street dogs running" is one thing: what comes before a subject is of it, and so is how it moves. */
function phraseAt({ pauses, found }: Text, from: number): { mentions: Mention[]; end: number } {
  const parts: (readonly Mention[])[] = []
  const ends: number[] = []
  for (let place = from; found.has(place) && (place === from || !pauses.has(place)); place = ends.at(-1) ?? place) {
    const here = found.get(place) ?? []
    parts.push(here)
    ends.push(place + (here[0]?.length ?? 1))
  }
  const isSubject = (part = -1) => parts[part]?.some(({ family }) => family === 'subject') ?? false
  let last = Math.max(
    0,
    parts.findIndex((_, part) => isSubject(part)),
  )
  while (isSubject(last) && isSubject(last + 1) && !parts[last]?.[0]?.plural) last += 1
  while (isSubject(last) && parts[last + 1]?.every(isManner)) last += 1
  return { mentions: parts.slice(0, last + 1).flat(), end: ends[last] ?? from + 1 }
}

/** Where a list goes on; commas alone are no list, since what follows one may be wanted: it must end in "or". */
function nextOfList(text: Text, end: number): number | null {
  const { words, pauses, found } = text
  const word = words[end] ?? ''
  if (alternatives.has(word) || (connectors.has(word) && !pauses.has(end))) return found.has(end + 1) ? end + 1 : null
  for (let place = end; pauses.has(place) && found.has(place); ) {
    place = phraseAt(text, place).end
    if (alternatives.has(words[place] ?? '')) return end
  }
  return null
}

/** "犬と猫なし", "car-free": what stands right before it. */
function excludedBefore({ words, pauses, found }: Text, at: number): Mention[] {
  const excluded: Mention[] = []
  for (let end = at; !pauses.has(end); ) {
    const here = [...found.values()].find(([mention]) => mention && mention.at + mention.length === end)
    const [first] = here ?? []
    if (!here || !first) break
    excluded.push(...here)
    if (!connectors.has(words[first.at - 1] ?? '')) break
    end = first.at - 1
  }
  return excluded
}

function isManner({ family }: Mention): boolean {
  return family === 'motion' || family === 'pace' || family === 'camera'
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
  ...{ hunde: 'hund', katzen: 'katze', drachen: 'drache', baume: 'baum' },
  ...{ frauen: 'frau', manner: 'mann', menschen: 'person', personas: 'person', gente: 'person', gens: 'person' },
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
