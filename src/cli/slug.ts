const longest = 40

/** A prompt as the start of a file name: whole words, in letters and digits of any script. */
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
  // One long word, or a script without spaces.
  return name || [...(words[0] ?? 'film')].slice(0, longest).join('')
}

/** The default name of a file. The end of the id distinguishes two videos of the same prompt. */
export function fileNameOf(prompt: string, id: string, ending = 'mp4'): string {
  const end = id.replace(/[^A-Za-z0-9]/g, '').slice(-6)
  return `${slug(prompt)}-${end}.${ending}`
}

/** The end of an id, as `filmgate list` shows it and every command accepts it. */
export function shortId(id: string): string {
  return id.slice(-6)
}

/** Fewer characters would match too many ids. */
export const leastOfId = 4

export function isShortId(text: string): boolean {
  return /^[\w-]{4,12}$/.test(text)
}
