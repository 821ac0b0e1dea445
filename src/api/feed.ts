import type { Clock } from '../core/clock.ts'
import type { Notice } from '../core/notice.ts'
import { openSequence, type Sequence } from '../core/sequence.ts'
import type { TaskView } from '../core/task.ts'
import type { Log } from '../log.ts'
import type { Store } from '../stores/store.ts'

/** A notice, with the task as it is by now: undefined of one that is gone. */
export interface Told {
  notice: Notice
  view: TaskView | undefined
  /** Who has heard this has heard everything up to that number. */
  id: number
}

export interface Audience {
  /** Whether anybody would hear it: of the others no task is read. */
  wants(notice: Notice): boolean
  /** In the order of the numbers, but for one that became visible late. */
  hear(told: Told): void
}

/** Reads what is new for all who listen in this process, and does nothing while nobody does. */
export interface Feed {
  /** Resolves once nothing can be missed that happens from now on. Throws where the store is away: leave then, too. */
  join(): Promise<void>
  leave(): void
  /** The greatest number up to which everything was told. */
  safe(): number
}

export interface FeedDependencies {
  store: Store
  clock: Clock
  log: Log
}

/** Who hears of nothing looks so often by himself. */
const lookMs = 1_000
const pageSize = 1_000
/** So many numbers below the newest may belong to transactions that are still under way when the first one joins. */
const lookBack = 1_000

export function openFeed({ store, clock, log }: FeedDependencies, audience: Audience): Feed {
  let members = 0
  let session: Session | undefined

  function open(): Session {
    const stop = new AbortController()
    const bell = openBell(clock)
    // Listened for from the start, so that what comes while it is being opened is read right after.
    const unhear = store.onNotice(bell.ring)
    stop.signal.addEventListener('abort', () => {
      unhear()
      bell.ring()
    })
    const sequence = begin(store, clock)
    void sequence.then((begun) => run(begun, bell, stop.signal)).catch(() => {})
    return { stop, sequence }
  }

  /** One page of what is new. What could not be told, because the store went away in between, is read again. */
  async function look(sequence: Sequence): Promise<{ more: boolean }> {
    const notices = await store.notices(sequence.newest(), sequence.missing(), pageSize)
    const wanted = notices.filter((notice) => audience.wants(notice))
    const views = await Promise.all(wanted.map(({ owner, task }) => store.read(owner, task)))
    sequence.take(
      notices.map(({ number }) => number),
      clock.now(),
    )
    const safe = sequence.safe()
    for (const [at, notice] of wanted.entries())
      audience.hear({ notice, view: views[at], id: Math.min(notice.number, safe) })
    return { more: notices.length === pageSize }
  }

  async function run(sequence: Sequence, bell: Bell, stop: AbortSignal): Promise<void> {
    let isAway = false
    while (!stop.aborted) {
      bell.mute()
      try {
        const { more } = await look(sequence)
        if (isAway) log.info('what clients are told of is read again')
        isAway = false
        if (!more && !stop.aborted) await bell.wait(lookMs)
      } catch (error) {
        if (!isAway) log.warn('what clients are told of can not be read now', { cause: error })
        isAway = true
        await clock.sleep(lookMs, stop)
      }
    }
  }

  return {
    async join() {
      members += 1
      session ??= open()
      const joined = session
      try {
        joined.begun = await joined.sequence
      } catch (error) {
        // The next one to come tries anew.
        joined.stop.abort()
        if (session === joined) session = undefined
        throw error
      }
    },
    leave() {
      members -= 1
      if (members > 0) return
      session?.stop.abort()
      session = undefined
    },
    safe: () => session?.begun?.safe() ?? 0,
  }
}

interface Session {
  stop: AbortController
  sequence: Promise<Sequence>
  begun?: Sequence
}

/** From the newest on. What is missing shortly below it may be about to come. */
async function begin(store: Store, clock: Clock): Promise<Sequence> {
  const { first, last } = await store.noticeRange()
  const sequence = openSequence(Math.max(0, first - 1, last - lookBack))
  const notices = await store.notices(sequence.newest(), [], lookBack)
  sequence.take(
    notices.map(({ number }) => number),
    clock.now(),
  )
  return sequence
}

/** Wakes the one who waits. A ring since `mute` counts. */
interface Bell {
  ring(): void
  mute(): void
  wait(ms: number): Promise<void>
}

function openBell(clock: Clock): Bell {
  let nap = new AbortController()
  return {
    ring: () => nap.abort(),
    mute() {
      if (nap.signal.aborted) nap = new AbortController()
    },
    wait: (ms) => clock.sleep(ms, nap.signal),
  }
}
