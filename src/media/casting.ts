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

/** Who is in the film, in the order of the prompt, each with its number and colour. */
export function castOf(reading: Reading): CastMember[] {
  const cast: CastMember[] = []
  for (const mention of reading.mentions) {
    if (mention.family !== 'subject') continue
    const name = mention.name as SubjectName
    const before = wordsBefore(reading, mention)
    const colour = colourOf(reading, before)
    const already = cast.find((member) => member.name === name)
    if (already) {
      // The same one, mentioned again: its colour is no mood of the whole.
      if (colour) already.colourAt.push(colour.at)
      continue
    }
    const shade = shades[mention.word]
    cast.push({
      name,
      count: countOf(reading, mention, before),
      colour: colour ? rgb(colour.hex) : shade ? rgb(shade) : null,
      colourAt: colour ? [colour.at] : [],
    })
    if (cast.length === mostKinds) break
  }
  return cast
}

/** Up to four words before it, back to the subject before. */
function wordsBefore(reading: Reading, mention: Mention): number[] {
  const places: number[] = []
  for (let at = mention.at - 1; at >= Math.max(0, mention.at - 4); at--) {
    const word = reading.words[at] ?? ''
    if (['and', 'with', 'in', 'on', 'over', 'under', 'at', 'near', 'by'].includes(word)) break
    if (reading.mentions.some((other) => other.family === 'subject' && other.at === at)) break
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

function countOf(reading: Reading, mention: Mention, places: readonly number[]): number {
  for (const at of places) {
    const number = numberOf(reading.words[at] ?? '')
    if (number !== undefined) return Math.max(1, Math.min(mostOfAKind, number))
  }
  return mention.plural ? (subjects[mention.name as SubjectName].many ?? 3) : 1
}
