import { createHash, randomInt } from 'node:crypto'
import { type FaultKind, type FaultsByKind, faultNamed, faultsByKind, kindOf } from './faults.ts'

/** Times in milliseconds. A change also applies to jobs that are running. */
export interface Settings {
  /** How long a job runs. */
  speed: number
  /** The time between two bytes of a drip. */
  dripMs: number
  /** How long connections are refused. */
  refuseMs: number
  /** The delay of a late accept. */
  lateMs: number
  /** How long a job stays unknown. */
  unknownMs: number
  /** How long a link to a film is valid; 0 means for ever. */
  linkMs: number
  /** How long an accepted job can't be found. */
  lagMs: number
}

export const defaultSettings: Settings = {
  speed: 50,
  dripMs: 1_000,
  refuseMs: 300,
  lateMs: 300,
  unknownMs: 300,
  linkMs: 0,
  lagMs: 0,
}

/** A fault for the next request of its kind, or for the next one with that prompt (for a find, that reference). */
export type NextFault = string | { fault: string; prompt: string }

export interface Orders extends Partial<Settings> {
  /** Replaces the faults in line. They come before the random faults of `rates`. */
  next?: NextFault[]
  /** Restarts the random faults with this seed. */
  seed?: number
  /** Replaces all rates: the probability of each fault by name. */
  rates?: Record<string, number>
}

export class Plan {
  settings = defaultSettings
  seed = randomInt(2 ** 32)
  #next: { fault: string; prompt: string | null }[] = []
  #rates = new Map<string, number>()
  #draws = new Map<string, number>()

  /** Throws a RangeError and changes nothing if the orders are not valid. */
  set(orders: Orders): void {
    const { next, seed, rates, ...settings } = orders
    const line = next?.map((entry) => (typeof entry === 'string' ? { fault: entry, prompt: null } : entry))
    for (const { fault } of line ?? []) requireName(fault)
    if (rates) requireRates(rates)
    requireSettings(settings)
    if (seed !== undefined && !Number.isSafeInteger(seed)) throw new RangeError('seed must be a whole number')
    if (line) this.#next = line
    if (rates) this.#rates = new Map(Object.entries(rates))
    if (seed !== undefined) this.seed = seed
    if (seed !== undefined) this.#draws.clear()
    this.settings = { ...this.settings, ...settings }
  }

  /** The fault of this request, if it has one. */
  take<Kind extends FaultKind>(kind: Kind, prompt: string): FaultsByKind[Kind] | undefined {
    const index = this.#next.findIndex(
      (entry) => kindOf(entry.fault) === kind && (entry.prompt === null || entry.prompt === prompt),
    )
    const name = index < 0 ? this.#draw(kind, prompt) : this.#next.splice(index, 1)[0]?.fault
    return name === undefined ? undefined : faultNamed(kind, name)
  }

  /** The first submit fault in line that has no prompt, if it has the flag. */
  takeFirst(flag: 'unread' | 'refuses'): FaultsByKind['submit'] | undefined {
    const index = this.#next.findIndex(({ fault, prompt }) => prompt === null && kindOf(fault) === 'submit')
    const fault = faultNamed('submit', this.#next[index]?.fault ?? '')
    if (!fault?.[flag]) return undefined
    this.#next.splice(index, 1)
    return fault
  }

  /** Depends on the prompt and its number of requests, so that a seed gives each task the same faults in any order. */
  #draw(kind: FaultKind, prompt: string): string | undefined {
    const rated = faultsByKind[kind].filter(({ name }) => this.#rates.has(name))
    if (rated.length === 0) return undefined
    const subject = `${kind} ${prompt}`
    const count = (this.#draws.get(subject) ?? 0) + 1
    this.#draws.set(subject, count)
    let left = createHash('sha256').update(`${this.seed} ${count} ${subject}`).digest().readUInt32LE(0) / 2 ** 32
    for (const { name } of rated) {
      left -= this.#rates.get(name) ?? 0
      if (left < 0) return name
    }
    return undefined
  }
}

function requireName(name: string): FaultKind {
  const kind = kindOf(name)
  if (kind === undefined) throw new RangeError(`unknown fault ${JSON.stringify(name)}`)
  return kind
}

function requireRates(rates: Record<string, number>): void {
  const sums = { submit: 0, poll: 0, find: 0, download: 0 }
  for (const [name, rate] of Object.entries(rates)) {
    if (!(rate >= 0)) throw new RangeError(`the rate of ${name} must be a probability`)
    sums[requireName(name)] += rate
  }
  // Sums of tenths are not exactly 1.
  if (Math.max(...Object.values(sums)) > 1 + 1e-9)
    throw new RangeError('the rates of a kind must not exceed 1 together')
}

function requireSettings(settings: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (!(name in defaultSettings)) throw new RangeError(`unknown setting ${JSON.stringify(name)}`)
    if (typeof value !== 'number' || !(value >= 0)) throw new RangeError(`${name} must be a number of milliseconds`)
  }
}
