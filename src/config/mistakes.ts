/** All that is wrong with the configuration, each with where it is and how to mend it. */
export class Mistakes extends Error {
  readonly list: string[] = []

  add(where: string, what: string, fix: string): void {
    this.list.push(`${where}: ${what}; ${fix}`)
  }

  /** Reports the keys of a map that mean nothing: a typo must not be a silent default. */
  keysOf(where: string, map: Record<string, unknown>, known: readonly string[]): void {
    for (const key of Object.keys(map)) {
      if (!known.includes(key)) this.add(where, `'${key}' is not a setting`, `use one of: ${known.join(', ')}`)
    }
  }

  /** The value as a map, or an empty one after reporting that it is none. Absent is empty. */
  mapAt(where: string, value: unknown): Record<string, unknown> {
    if (value === undefined || value === null) return {}
    if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
    this.add(where, 'it is not a map', 'write it as indented "name: value" lines')
    return {}
  }

  throwIfAny(): void {
    if (this.list.length === 0) return
    this.message = this.list.join('\n')
    throw this
  }
}
