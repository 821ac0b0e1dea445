import type { DecisionRecord } from '../../src/core/plan.ts'
import { isFinished } from '../../src/core/task.ts'
import type { Store } from '../../src/stores/store.ts'

/** Where a process can die during a submit, in order. */
export const crashPoints = [
  'before-intent', //  claimed, the attempt not committed
  'after-intent', //   the attempt committed, nothing sent
  'before-arrival', // sent, and lost on the way
  'after-arrival', //  it arrived, the answer lost on the way
  'before-outcome', // the answer is here, not committed
  'after-outcome', //  committed
] as const
export type CrashPoint = (typeof crashPoints)[number]

/** One run of the gateway process. When it dies, the calls that it was waiting for never return. */
export class Life {
  dead = false
  /** The calls that it is waiting for. */
  pending = 0
  crashed: { point: CrashPoint; prompt: string } | undefined
  #rest = () => {}
  readonly #deadly: (point: CrashPoint, prompt: string) => boolean

  constructor(deadly: (point: CrashPoint, prompt: string) => boolean) {
    this.#deadly = deadly
  }

  /** A point where the process may die. */
  async pass(point: CrashPoint, prompt: string): Promise<void> {
    if (!this.dead && this.#deadly(point, prompt)) {
      this.dead = true
      this.crashed = { point, prompt }
      this.#rest()
    }
    if (this.dead) await new Promise(() => {})
  }

  async lived<T>(action: () => T | Promise<T>): Promise<T> {
    if (this.dead) return new Promise(() => {})
    this.pending += 1
    const result = await (async () => action())().finally(() => {
      this.pending -= 1
      if (this.pending === 0) this.#rest()
    })
    return this.dead ? new Promise(() => {}) : result
  }

  /** Resolves when it waits for nothing, or is dead. Does not poll: that would slow down its calls. */
  async resting(): Promise<void> {
    if (this.pending === 0 || this.dead) return
    await new Promise<void>((resolve) => {
      this.#rest = resolve
    })
  }

  /** Resolves when all calls from before its death have taken effect. */
  async buried(): Promise<void> {
    while (this.pending > 0)
      await new Promise<void>((resolve) => {
        this.#rest = resolve
      })
  }
}

/** The store as that process sees it. Calls from before its death still take effect: the commit was on its way. */
export function storeOf(
  store: Store,
  life: Life,
  { prompts, finished }: { prompts: ReadonlyMap<string, string>; finished: Set<string> },
): Store {
  const mortal = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'onDue') return value
      return (...args: unknown[]) => life.lived(() => value.apply(target, args))
    },
  })
  return {
    ...mortal,
    async record(entry: DecisionRecord) {
      const prompt = prompts.get(entry.task.id) ?? ''
      if (entry.opened) await life.pass('before-intent', prompt)
      if (entry.fact) await life.pass('before-outcome', prompt)
      const held = await life.lived(async () => {
        const written = await store.record(entry)
        if (written && isFinished(entry.task)) finished.add(entry.task.id)
        return written
      })
      if (entry.opened) await life.pass('after-intent', prompt)
      if (entry.fact) await life.pass('after-outcome', prompt)
      return held
    },
  }
}
