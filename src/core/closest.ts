/** Longer than any of our names: comparing longer ones would only cost time. */
const longest = 64

/** The known words that the given one may be a typo of, the nearest first. */
export function closest(given: string, known: readonly string[]): string[] {
  return ranked(given, known)
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.replace(/^-+/, '').length / 3)))
    .map(({ word }) => word)
}

function ranked(given: string, known: readonly string[]): { word: string; distance: number }[] {
  if (given.length > longest) return []
  return known
    .filter((word) => word.length <= longest)
    .map((word) => ({ word, distance: word.startsWith(given) && given.length > 2 ? 0 : distanceOf(given, word) }))
    .sort((a, b) => a.distance - b.distance)
}

/** How many letters must be changed, added, dropped or swapped with the next one. */
function distanceOf(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    const above = rows[i - 1] ?? []
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + same)
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, (rows[i - 2]?.[j - 2] ?? 0) + 1)
      row.push(best)
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] ?? 0
}
