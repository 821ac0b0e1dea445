import { type Part, parseExpression } from './parse.ts'

/** A text that grows in its middle: a lead, a repeated part, and an end that prevents a match. */
export interface Attack {
  readonly head: string
  readonly pump: string
  readonly tail: string
}

export function textOf({ head, pump, tail }: Attack, length: number): string {
  return head + pump.repeat(Math.ceil(length / pump.length)) + tail
}

/** Slow for some expression or other. */
const usual = [...' \t\n0a[({"\'-.,:;/=%+\\<&é漢😀', 'aA1.', ', ', 'a ', '[]', '%41', '../', 'a=b&', '\r\n', 'e\u0301']
const breaks = ['', '\0', '\n']
/** Characters of a class: enough to overlap with the parts beside it. */
const mostSamples = 4

/** Texts for one expression: each of its repetitions, many times after a lead, and each beginning of a match, repeated. */
export function attacksOn(expression: RegExp): Attack[] {
  const found = new Map<string, Attack>()
  const add = (head: string, pump: string, rest: string) => {
    if (pump === '') return
    const tails = breaks.flatMap((end) => [end, rest + end])
    for (const tail of tails) found.set(JSON.stringify([head, pump, tail]), { head, pump, tail })
  }
  const pumps = new Set(usual)

  /** `lead` and `rest` match the parts before and after this one. */
  function visit(part: Part, lead: string, rest: string): void {
    if (part.kind === 'character') for (const sample of part.samples.slice(0, mostSamples)) pumps.add(sample)
    if (part.kind === 'choice') for (const option of part.options) visit(option, lead, rest)
    if (part.kind === 'empty' && part.within) visit(part.within, lead, rest)
    if (part.kind === 'repeat') {
      for (const body of bodies(part.of)) {
        add(lead, body, rest)
        add('', lead + body, rest)
      }
      visit(part.of, lead, rest)
      visit(part.of, lead + shortest(part.of), rest)
    }
    if (part.kind === 'sequence') visitSequence(part.parts, lead, rest)
  }

  function visitSequence(parts: readonly Part[], lead: string, rest: string): void {
    let before = ''
    for (const [index, part] of parts.entries()) {
      const behind = parts
        .slice(index + 1)
        .map(shortest)
        .join('')
      visit(part, lead + before, behind + rest)
      before += shortest(part) || bodies(part)[0] || ''
      add('', before, '')
      add(lead, before, rest)
    }
  }

  const whole = parseExpression(expression)
  visit(whole, '', '')
  const singles = [...pumps]
  for (const pump of singles) add('', pump, '')
  for (const first of singles.slice(usual.length, usual.length + 6))
    for (const second of singles.slice(usual.length, usual.length + 6)) add('', first + second, '')
  return [...found.values()]
}

/** Texts that the part matches once. */
function bodies(part: Part): string[] {
  switch (part.kind) {
    case 'character':
      return part.samples.slice(0, mostSamples)
    case 'choice':
      return part.options.flatMap(bodies)
    case 'repeat':
      return bodies(part.of).map((body) => body.repeat(Math.max(1, part.least)))
    case 'sequence':
      return [part.parts.map(shortest).join(''), part.parts.map((each) => bodies(each)[0] ?? '').join('')]
    case 'empty':
      return ['']
  }
}

function shortest(part: Part): string {
  switch (part.kind) {
    case 'character':
      return part.samples[0] ?? ''
    case 'choice':
      return part.options.map(shortest).reduce((a, b) => (b.length < a.length ? b : a))
    case 'repeat':
      return shortest(part.of).repeat(part.least)
    case 'sequence':
      return part.parts.map(shortest).join('')
    case 'empty':
      return ''
  }
}
