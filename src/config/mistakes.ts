interface Mistake {
  where: string
  what: string
  fix: string
}

/** All mistakes in the configuration, each with its place and its fix. */
export class Mistakes extends Error {
  /** The path of filmgate.yaml. The place '' is the file itself. */
  file = 'filmgate.yaml'
  /** Every place of the file, from top to bottom. */
  readonly places: string[] = []
  #all: Mistake[] = []
  /** By place, the values that the schema refuses. */
  readonly #refused = new Map<string, Mistake>()
  /** By place, the text in the file of a value that has a variable in it. */
  readonly #written = new Map<string, string>()

  /** If the schema refuses the value already, only the fix is replaced, because this one is more exact. */
  add(where: string, what: string, fix: string): void {
    const refused = this.#refused.get(where)
    if (refused) refused.fix = fix
    else this.#all.push({ where, what, fix })
  }

  /** Reports a value that the schema refuses. */
  refuse(where: string, what: string, fix: string): void {
    const mistake = { where, what, fix }
    this.#all.push(mistake)
    this.#refused.set(where, mistake)
  }

  isRefused(where: string): boolean {
    return this.#refused.has(where)
  }

  /** Removes the mistakes at a place that has no effect. */
  forget(where: string): void {
    this.#all = this.#all.filter((mistake) => mistake.where !== where)
  }

  /** Reports a name that does not exist. */
  addUnknown(where: string, name: string | undefined, fix: string, wording: (quoted: string) => string): void {
    this.add(where, name === undefined ? 'it is missing' : wording(this.quote(where, name)), fix)
  }

  /** The text at this place came from a variable and may be a secret: messages show it as the file has it. */
  hide(where: string, written: string): void {
    this.#written.set(where, written)
  }

  /** The text at this place as the file has it, if it has a variable in it. */
  writtenAt(where: string): string | undefined {
    return this.#written.get(where)
  }

  quote(where: string, text: string): string {
    return `'${this.#written.get(where) ?? text}'`
  }

  /** In the order of the file. A mistake without a place in it stays after the one that was found before it. */
  get all(): { where: string; text: string }[] {
    let rank = 0
    return this.#all
      .map((mistake) => {
        rank = this.#rankOf(mistake.where) ?? rank
        return { ...mistake, rank }
      })
      .sort((one, other) => one.rank - other.rank)
      .map(({ where, what, fix }) => ({ where, text: `${where === '' ? this.file : where}: ${what}; ${fix}` }))
  }

  get list(): string[] {
    return this.all.map(({ text }) => text)
  }

  #rankOf(where: string): number | undefined {
    // A missing key comes last in its map.
    const map = where.slice(0, Math.max(where.lastIndexOf('.'), 0)) || where
    const at = this.places.indexOf(where)
    const rank = at >= 0 ? at : this.places.findLastIndex((place) => place === map || place.startsWith(`${map}.`))
    return rank < 0 ? undefined : rank
  }

  throwIfAny(): void {
    if (this.#all.length === 0) return
    this.message = this.list.join('\n')
    throw this
  }
}

/** The place of a name in a map: `accounts.main`, but `accounts["../main"]`. */
export function placeIn(where: string, name: string): string {
  if (!/^[\w-]+([.:/@][\w-]+)*$/.test(name)) return `${where}[${JSON.stringify(name)}]`
  return where === '' ? name : `${where}.${name}`
}
