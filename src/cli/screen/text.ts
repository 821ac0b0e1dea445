/* Text in columns. Prompts and messages are untrusted: control characters are removed before they are shown. */

const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}])/u

/** Created when it is first needed: that takes 10 ms, and the banner of a start is ASCII. */
let segmenter: Intl.Segmenter | undefined

function charactersOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

/** C0, DEL, C1, and the marks that change the direction of text. */
const unprintable = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu

/** One line, without control characters. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, ' ').trim()
}

/** What `--json` prints. JSON itself escapes only some control characters. */
export function jsonLine(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replaceAll(unprintable, (run) => [...run].map(escaped).join(''))}\n`
}

/** The same for several lines, with their indents. */
export function printableLines(text: string): string {
  return text
    .split('\n')
    .map((line) => `${/^ */.exec(line)?.[0]}${printable(line)}`)
    .join('\n')
}

/** CSV without control characters. Nothing is trimmed: a cell must not begin with `=`, which a spreadsheet would run. */
export function printableCsv(text: string): string {
  return text
    .split('\r\n')
    .map((line) => line.replaceAll(unprintable, ' '))
    .join('\r\n')
}

/** The width in columns of a terminal, without colours. */
export function widthOf(text: string): number {
  const bare = withoutColours(text)
  if (/^[\x20-\x7e]*$/.test(bare)) return bare.length
  let width = 0
  for (const { segment } of charactersOf(bare)) width += wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1
  return width
}

/** Cut to `width` columns, with an ellipsis. Only for text without colours. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 1) return ''
  let kept = ''
  let used = 0
  for (const { segment } of charactersOf(text)) {
    const next = used + widthOf(segment)
    if (next > width - 1) break
    kept += segment
    used = next
  }
  return `${kept.trimEnd()}…`
}

/** Lines of at most `width` columns, broken at spaces. A longer word, such as an id, stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** Cut in the middle, for names that differ at the end. */
export function fitMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const end = [...text].slice(-Math.min(10, Math.floor(width / 2))).join('')
  return `${fit(text, width - widthOf(end))}${end}`
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type Colour = keyof typeof codes
export type Paint = (colour: Colour, text: string) => string

export function painter(colour: boolean): Paint {
  return (name, text) => (colour && text !== '' ? `\x1b[${codes[name]}m${text}\x1b[0m` : text)
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a colour starts with
  return text.replace(/\x1b\[\d+m/g, '')
}
