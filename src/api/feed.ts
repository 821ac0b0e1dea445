import { type Bell, openBell } from '../core/bell.ts'
import type { Clock } from '../core/clock.ts'
import { type Notice, openSequence, patienceMs, type Sequence } from '../core/notice.ts'
import type { TaskView } from '../core/task.ts'
import type { NoticeStore, TaskStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

/** A notice, with the task as it is by now: undefined of one that is gone. */
export interface Told {
  notice: Notice
  view: TaskView | undefined
  /** Who has heard this has heard everything up to that number. */
  id: number
}

interface Audience {
  /** Whether anybody would hear it: of the others no task is read. */
  wants(notice: Notice): boolean
  /** In the order of the numbers, but for one that became visible late. Never throws: the rest would not be told. */
  hear(told: Told): void
}

/** Reads what is new for all who listen in this process, and does nothing while nobody does. */
interface Feed {
  /** Resolves once nothing can be missed that happens from now on. Throws where the store is away: leave then, too. */
  join(): Promise<void>
  leave(): void
  /** The greatest number up to which everything was told. */
  safe(): number
}

export interface FeedDependencies {
  store: NoticeStore & TaskStore
  clock: Clock
  log: Log
}

/** Who hears of nothing looks so often by himself. */
const lookMs = 1_000
const pageSize = 1_000
const stepSize = 8
/** So many numbers below the newest may belong to transactions that are still under way when the first one joins. */
const lookBack = 1_000

export function openFeed(dependencies: FeedDependencies, audience: Audience): Feed {
  let members = 0
  let session: Session | undefined
  return {
    async join() {
      members += 1
      session ??= openSession(dependencies, audience)
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

/** From the first one who joins to the last one who leaves. */
interface Session {
  stop: AbortController
  sequence: Promise<Sequence>
  begun?: Sequence
}

function openSession(dependencies: FeedDependencies, audience: Audience): Session {
  const { store, clock } = dependencies
  const stop = new AbortController()
  const bell = openBell(clock)
  // Listened for from the start, so that what comes while it is being opened is read right after.
  const unhear = store.onNotice(bell.ring)
  stop.signal.addEventListener('abort', unhear)
  const sequence = begin(store, clock)
  const listening = { ...dependencies, bell, stop: stop.signal }
  void sequence.then((begun) => run(() => tellNew(begun, dependencies, audience), listening)).catch(() => {})
  return { stop, sequence }
}

/** From the newest on. What is missing shortly below it may be about to come. */
async function begin(store: NoticeStore, clock: Clock): Promise<Sequence> {
  const { first, last } = await store.noticeRange()
  const start = Math.max(0, last - lookBack)
  const notices = await store.notices(start, [], lookBack)
  const [oldest] = notices
  // The oldest that is kept: those below it were dropped, or it is the first ever, and one below it may be under way.
  const isSettled = oldest?.number === first && clock.now() - oldest.at >= patienceMs
  const sequence = openSequence(isSettled ? first - 1 : start)
  sequence.take(
    notices.map(({ number }) => number),
    clock.now(),
  )
  return sequence
}

async function run(
  look: () => Promise<{ more: boolean }>,
  { clock, log, bell, stop }: FeedDependencies & { bell: Bell; stop: AbortSignal },
): Promise<void> {
  let isAway = false
  while (!stop.aborted) {
    bell.mute()
    try {
      const { more } = await look()
      if (isAway) log.info('what clients are told of is read again')
      isAway = false
      if (!more && !stop.aborted) await bell.wait(lookMs, stop)
    } catch (error) {
      if (!isAway) log.warn('what clients are told of can not be read now', { cause: error })
      isAway = true
      await clock.sleep(lookMs, stop)
    }
  }
}

/** One page of what is new. What could not be told, because the store went away in between, is read again. */
async function tellNew(
  sequence: Sequence,
  { store, clock }: FeedDependencies,
  audience: Audience,
): Promise<{ more: boolean }> {
  const notices = await store.notices(sequence.newest(), sequence.missing(), pageSize)
  const wanted = notices.filter((notice) => audience.wants(notice))
  const views = await readAll(wanted, store)
  sequence.take(
    notices.map(({ number }) => number),
    clock.now(),
  )
  const safe = sequence.safe()
  for (const [at, notice] of wanted.entries())
    audience.hear({ notice, view: views[at], id: Math.min(notice.number, safe) })
  return { more: notices.length === pageSize }
}

/** A few at a time: a store may read on this thread, and prompts may be long. */
async function readAll(notices: readonly Notice[], store: TaskStore): Promise<(TaskView | undefined)[]> {
  const views: (TaskView | undefined)[] = []
  while (views.length < notices.length) {
    if (views.length > 0) await new Promise((resolve) => setImmediate(resolve))
    const step = notices.slice(views.length, views.length + stepSize)
    views.push(...(await Promise.all(step.map(({ owner, task }) => store.read(owner, task)))))
  }
  return views
}
