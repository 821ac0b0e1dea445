import { collectives, connectors, definites, links, pairs, particles } from './grammar.ts'
import { type Rgb, rgb } from './palette.ts'
import type { Mention, Reading } from './reading.ts'
import { type SubjectName, subjects } from './subjects/index.ts'
import { type ColourName, colours, numberOf, shades } from './vocabulary.ts'

/** One kind of subject in a film. */
export interface CastMember {
  name: SubjectName
  count: number
  /** Null is its natural colour. */
  colour: Rgb | null
  /** Which words of the prompt said the colour: they say nothing of the mood then. */
  colourAt: number[]
}

/** More kinds, or more of a kind, would be too small to be seen. */
const mostKinds = 4
const mostOfAKind = 9

interface Role {
  member: CastMember
  /** By which words the prompt named it. */
  words: string[]
}

/** Who is in the film, in the order of the prompt, each with its number and colour. */
export function castOf(reading: Reading): CastMember[] {
  const cast: Role[] = []
  for (const mention of reading.mentions) {
    if (mention.family !== 'subject' || isCount(reading, mention)) continue
    const before = wordsBefore(reading, mention)
    const member = describe(reading, mention, before)
    const same = cast.filter((role) => role.member.name === member.name)
    if (same.length > 0 && !isFurther(reading, { mention, member, before }, same)) {
      // The same one, mentioned again: its colour is no mood of the whole.
      same[0]?.member.colourAt.push(...member.colourAt)
      continue
    }
    const alike = same.find((role) => String(role.member.colour) === String(member.colour))
    alike?.words.push(mention.word)
    if (alike) alike.member.count = Math.min(mostOfAKind, alike.member.count + member.count)
    else if (cast.length < mostKinds) cast.push({ member, words: [mention.word] })
  }
  return cast.map(({ member }) => member)
}

function describe(reading: Reading, mention: Mention, before: readonly number[]): CastMember {
  const colour = colourOf(reading, before)
  const shade = shades[mention.word]
  return {
    name: mention.name as SubjectName,
    count: Math.max(1, Math.min(mostOfAKind, countOf(reading, mention, before))),
    colour: colour ? rgb(colour.hex) : shade ? rgb(shade) : null,
    colourAt: colour ? [colour.at] : [],
  }
}

interface Described {
  mention: Mention
  member: CastMember
  before: readonly number[]
}

/** Whether it is one more of its kind: "a man and a boy", "a red car and a blue car", but not "the boy" of before. */
function isFurther(reading: Reading, { mention, member, before }: Described, same: readonly Role[]): boolean {
  const { words, own, mentions } = reading
  if (mention.at >= own) return false
  // "a golden retriever puppy" is one dog.
  const isOnePhrase = mentions.some(({ name, at, length }) => name === mention.name && at + length === mention.at)
  const isAdded = connectors.has(words[(before.at(-1) ?? mention.at) - 1] ?? '')
  const isDefinite = before.some((at) => definites.has(words[at] ?? ''))
  if (isOnePhrase || (isDefinite && !isAdded)) return false
  const isNewWord = !same.some((role) => role.words.includes(mention.word))
  const colour = String(member.colour)
  const isNewColour =
    member.colourAt.length > 0 &&
    same.every((role) => role.member.colourAt.length > 0 && String(role.member.colour) !== colour)
  return isNewWord || isNewColour || before.some((at) => words[at] === 'another')
}

/** "a couple of foxes", "a fox family": then it says how many there are. */
function isCount({ words, mentions }: Reading, { word, at, length }: Mention): boolean {
  if (!collectives.has(word) && !pairs.has(word)) return false
  const isSubject = (place: number) => mentions.some((other) => other.family === 'subject' && other.at === place)
  const end = at + length
  const isFollowed = links.has(words[end] ?? '') && [1, 2, 3].some((step) => isSubject(end + step))
  const isPreceded = mentions.some((other) => other.family === 'subject' && other.at + other.length === at)
  return isFollowed || isPreceded || (pairs.has(word) && isSubject(end))
}

/** Up to four words before it, back to the subject before. */
function wordsBefore(reading: Reading, mention: Mention): number[] {
  const places: number[] = []
  for (let at = mention.at - 1; at >= Math.max(0, mention.at - 4); at--) {
    const word = reading.words[at] ?? ''
    if (connectors.has(word) || ['with', 'in', 'on', 'over', 'under', 'at', 'near', 'by'].includes(word)) break
    const subject = reading.mentions.find((other) => other.family === 'subject' && other.at === at)
    if (subject && !isCount(reading, subject)) break
    places.push(at)
  }
  return places
}

function colourOf(reading: Reading, places: readonly number[]): { hex: string; at: number } | null {
  for (const at of places) {
    const mention = reading.mentions.find((each) => each.family === 'colour' && each.at === at)
    if (mention) return { hex: colours[mention.name as ColourName][0], at }
  }
  return null
}

function countOf({ words }: Reading, mention: Mention, places: readonly number[]): number {
  const end = mention.at + mention.length
  const said = places
    // "a school bus" is one.
    .filter((at) => !collectives.has(words[at] ?? '') || links.has(words[at + 1] ?? ''))
    .map((at) => numberOf(words[at] ?? ''))
    .find((number) => number !== undefined)
  const own = numberOf(mention.word)
  if (own !== undefined) return mention.plural ? own * (said ?? 2) : own
  const next = words[end] ?? ''
  const after = collectives.has(next) || pairs.has(next) ? next : particles.has(next) ? (words[end + 1] ?? '') : ''
  return said ?? numberOf(after) ?? (mention.plural ? (subjects[mention.name as SubjectName].many ?? 3) : 1)
}
