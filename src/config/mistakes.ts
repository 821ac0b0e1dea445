/** All that is wrong with the configuration, each with where it is and how to mend it. */
export class Mistakes extends Error {
  readonly list: string[] = []
  /** By its place, how the file writes a text that a variable is part of. */
  readonly #written = new Map<string, string>()

  add(where: string, what: string, fix: string): void {
    this.list.push(`${where}: ${what}; ${fix}`)
  }

  /** The text at this place came from a variable, perhaps a secret in the wrong place: it is only shown as written. */
  hide(where: string, written: string): void {
    this.#written.set(where, written)
  }

  quote(where: string, text: string): string {
    return `'${this.#written.get(where) ?? text}'`
  }

  /** Reports a value that should be the name of something, or one of a few words. */
  addUnknown(where: string, value: unknown, fix: string, wording: (quoted: string) => string): void {
    if (value === undefined || value === null) this.add(where, 'it is missing', fix)
    else if (typeof value !== 'string') this.add(where, 'it is not text', fix)
    else this.add(where, wording(this.quote(where, value)), fix)
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

/** The place of a name in a map: `accounts.main`, but `accounts["../main"]`. */
export function placeIn(where: string, name: string): string {
  if (!/^[\w-]+([.:/@][\w-]+)*$/.test(name)) return `${where}[${JSON.stringify(name)}]`
  return where === '' ? name : `${where}.${name}`
}

/** More tasks at once than any machine has files for is a slip of the finger. */
export const mostAtOnce = 100_000

export function isLimit(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= mostAtOnce
}

export const mostPerMinute = 10_000_000

export function isRate(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostPerMinute
}
