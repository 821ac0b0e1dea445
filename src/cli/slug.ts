const longest = 40

/** A prompt as the beginning of a file name: letters and digits of any script, words kept whole. */
export function slug(prompt: string): string {
  const words = prompt
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  let name = ''
  for (const word of words) {
    const next = name === '' ? word : `${name}-${word}`
    if (next.length > longest) break
    name = next
  }
  // One endless word, or a script without spaces.
  return name || [...(words[0] ?? 'film')].slice(0, longest).join('')
}

/** What a film is called unless someone says otherwise; the end of its id keeps two of the same prompt apart. */
export function filmName(prompt: string, id: string, ending = 'mp4'): string {
  const end = id.replace(/[^A-Za-z0-9]/g, '').slice(-6)
  return `${slug(prompt)}-${end}.${ending}`
}

/** The end of an id is enough to type, and to tell apart what one list shows. */
export function shortId(id: string): string {
  return id.slice(-6)
}

/** Fewer characters would fit too many ids. */
export const leastOfId = 4

export function isShortId(text: string): boolean {
  return /^[\w-]{4,12}$/.test(text)
}
