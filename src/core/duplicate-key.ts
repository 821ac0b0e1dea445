const [quote, backslash, comma, colon, space] = [0x22, 0x5c, 0x2c, 0x3a, 0x20]
const [brace, bracket, braceEnd, bracketEnd] = [0x7b, 0x5b, 0x7d, 0x5d]

/**
 * The first key that an object in this text has twice, at any depth; undefined if all keys differ. `JSON.parse` keeps
 * the last value and other parsers keep the first, so they would see different requests. The text must be valid JSON.
 */
export function duplicateKey(json: string): string | undefined {
  const outer: (Set<string> | null)[] = []
  // The keys of the current object; null in a list.
  let keys: Set<string> | null = null
  let isValue = true
  for (let at = 0; at < json.length; at++) {
    let sign = json.charCodeAt(at)
    // A loop of its own, because a body may be megabytes of spaces.
    while (sign <= space) sign = json.charCodeAt(++at)
    switch (sign) {
      case quote: {
        const end = endOfText(json, at)
        if (keys !== null && !isValue) {
          const key = readKey(json, at, end)
          if (keys.has(key)) return key
          keys.add(key)
        }
        at = end
        break
      }
      case brace:
      case bracket:
        outer.push(keys)
        isValue = sign === bracket
        keys = isValue ? null : new Set()
        break
      case braceEnd:
      case bracketEnd:
        keys = outer.pop() ?? null
        break
      case comma:
        isValue = keys === null
        break
      case colon:
        isValue = true
    }
  }
  return undefined
}

/** The position of the closing quote. A search is much faster than a look at each character. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end - 1
    while (json.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return json.length
}

/** "\u0061" is the same key as "a". */
function readKey(json: string, start: number, end: number): string {
  const written = json.slice(start + 1, end)
  return written.includes('\\') ? JSON.parse(json.slice(start, end + 1)) : written
}
