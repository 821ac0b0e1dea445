import { createHash, randomInt } from 'node:crypto'
import { type FaultKind, type FaultsByKind, faultNamed, faultsByKind, kindOf } from './faults.ts'

/** How long things take, in milliseconds. Changes hold for what is under way, too. */
export interface Settings {
  /** How long a job runs. */
  speed: number
  /** Between two bytes of a drip. */
  dripMs: number
  /** How long connections are refused. */
  refuseMs: number
  /** How much later a late accept comes. */
  lateMs: number
  /** How long a job stays unknown. */
  unknownMs: number
  /** How long a link to a film is good; 0 for ever. */
  linkMs: number
  /** How long an accepted job can't be found yet. */
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

/** A fault for the next request of its kind, or for the next one of that prompt (of a find: of that reference). */
export type NextFault = string | { fault: string; prompt: string }

export interface Orders extends Partial<Settings> {
  /** Replaces what is in line. Used up before chance has a say. */
  next?: NextFault[]
  /** Chance begins anew with it. */
  seed?: number
  /** Replaces all rates: by name of the fault, how probable it is. */
  rates?: Record<string, number>
}

export class Plan {
  settings = defaultSettings
  seed = randomInt(2 ** 32)
  #next: { fault: string; prompt: string | null }[] = []
  #rates = new Map<string, number>()
  #draws = new Map<string, number>()

  /** Throws a RangeError, and changes nothing, if it can't be done. */
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

  /** What is to go wrong with this request. */
  take<Kind extends FaultKind>(kind: Kind, prompt: string): FaultsByKind[Kind] | undefined {
    const index = this.#next.findIndex(
      (entry) => kindOf(entry.fault) === kind && (entry.prompt === null || entry.prompt === prompt),
    )
    const name = index < 0 ? this.#draw(kind, prompt) : this.#next.splice(index, 1)[0]?.fault
    return name === undefined ? undefined : faultNamed(kind, name)
  }

  /** The first submit fault in line, if it is one that does not wait for a prompt. */
  takeFirst(flag: 'unread' | 'refuses'): FaultsByKind['submit'] | undefined {
    const index = this.#next.findIndex(({ fault, prompt }) => prompt === null && kindOf(fault) === 'submit')
    const fault = faultNamed('submit', this.#next[index]?.fault ?? '')
    if (!fault?.[flag]) return undefined
    this.#next.splice(index, 1)
    return fault
  }

  /** By the prompt and how often it was asked for, so that a seed gives each task the same fate in any order. */
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
  if (kind === undefined) throw new RangeError(`no fault is called ${JSON.stringify(name)}`)
  return kind
}

function requireRates(rates: Record<string, number>): void {
  const sums = { submit: 0, poll: 0, find: 0, download: 0 }
  for (const [name, rate] of Object.entries(rates)) {
    if (!(rate >= 0)) throw new RangeError(`the rate of ${name} must be a probability`)
    sums[requireName(name)] += rate
  }
  // Tenths do not add up to exactly 1.
  if (Math.max(...Object.values(sums)) > 1 + 1e-9)
    throw new RangeError('the rates of a kind must not exceed 1 together')
}

function requireSettings(settings: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (!(name in defaultSettings)) throw new RangeError(`nothing is called ${name}`)
    if (typeof value !== 'number' || !(value >= 0)) throw new RangeError(`${name} must be a number of milliseconds`)
  }
}
