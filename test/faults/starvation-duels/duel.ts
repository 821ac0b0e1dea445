import type { Upstream } from '../../../simulators/upstream.ts'
import type { WorkingHost } from './host.ts'
import type { Mp4Options } from './mp4.ts'
import type { Answers } from './senders.ts'

/** One token attacks, another works: what does the attack cost the one that works? */
export interface Duel {
  readonly title: string
  /** Runs in a process of its own, so that the attacker's work is not measured. */
  openAttack(site: AttackSite): Promise<Attack>
  /** What the working token does, again and again. All that it needs exists when this resolves. */
  openMeasures(world: World): Promise<Measure[]>
  /** How many of each measure run at once; 1 unless the duel says otherwise. */
  readonly lanes?: number
  /** How often each measure is taken at most, where it takes seconds or needs something new each time. */
  readonly count?: number
  /** How long a job of the working token's engine runs; longer than the duel unless it says otherwise. */
  readonly jobMs?: number
  /** The service resolves names through a server that never answers for `*.silent.test`. */
  readonly needsSilentNames?: true
  /** The service's `ulimit -n`; the machine's own unless the duel says otherwise. */
  readonly mostOpenFiles?: number
  /** What both engines generate; a tiny film unless the duel says otherwise. */
  readonly film?: Mp4Options
}

/** What an attack has at its disposal before the service runs. */
export interface AttackSite {
  /** The engine behind the model `other`, which only the attacker uses. */
  readonly upstream: Upstream
  /** Counts what the service answers to the attacker, by status. */
  readonly answers: Answers
}

export interface Attack {
  /** Hosts of the attacker that the operator allows, as `host:port`. */
  readonly allow: readonly string[]
  /** Creates what has to exist before anything is measured. */
  prepare?(target: Target): Promise<void>
  /** Resolves when the attack is fully under way; it goes on until the process ends. */
  begin(target: Target): Promise<void>
}

/** Where requests go, and as whom. */
export interface Target {
  readonly url: string
  readonly token: string
}

/** The side of the working token. */
export interface World {
  readonly target: Target
  readonly operatorToken: string
  /** The engine behind the model `film`, at `http://localhost:…`. */
  readonly upstream: Upstream
  readonly host: WorkingHost
}

/** When the time of one measurement begins: at its start unless the measure says otherwise. Undefined: not yet. */
export interface Watch {
  begun: number | undefined
}

export interface Measure {
  readonly name: string
  /** Returns the moment at which it was done, in milliseconds as `moment` has them. Throws if it went wrong. */
  run(watch: Watch, signal: AbortSignal): Promise<number>
}

/** Like Date.now(), in fractions of a millisecond. */
export const moment = () => performance.timeOrigin + performance.now()

/** The models: the working token's, and the attacker's. */
export const models = { working: 'film', attacking: 'other' } as const
