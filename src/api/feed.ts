import { type Bell, openBell } from '../core/bell.ts'
import type { Clock } from '../core/clock.ts'
import { longestTransactionMs, type Notice, openSequence, type Sequence } from '../core/notice.ts'
import { openOutage } from '../core/outage.ts'
import type { TaskView } from '../core/task.ts'
import type { NoticeStore, TaskStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

/** A notice, with the current task; undefined if the task was deleted. */
export interface FeedItem {
  notice: Notice
  view: TaskView | undefined
  /** A client that received this item has received everything up to this number. */
  id: number
}

interface Audience {
  /** Whether any listener wants it. The task of any other notice is not read. */
  wants(notice: Notice): boolean
  /** In order of the numbers, except for notices that became visible late. Never throws: the rest would be lost. */
  receive(item: FeedItem): void
}

/** Reads new notices for all listeners of this process. Does nothing while there are no listeners. */
interface Feed {
  /** After it resolves, no later notice is missed. Throws if the store is unavailable; call `leave` then, too. */
  join(): Promise<void>
  leave(): void
  /** All notices up to this number were passed on. */
  safe(): number
}

export interface FeedDependencies {
  store: NoticeStore & TaskStore
  clock: Clock
  log: Log
}

/** How often to look for notices if the store does not announce any. */
const lookMs = 1_000
const pageSize = 1_000
const stepSize = 8
/** So many numbers below the newest may belong to transactions that still run when the first listener joins. */
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
        // The next listener tries again.
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

/** From the first listener that joins to the last one that leaves. */
interface Session {
  stop: AbortController
  sequence: Promise<Sequence>
  begun?: Sequence
}

function openSession(dependencies: FeedDependencies, audience: Audience): Session {
  const { store, clock } = dependencies
  const stop = new AbortController()
  const bell = openBell(clock)
  // Subscribed before the first read, so that notices that arrive meanwhile are read right after it.
  const unsubscribe = store.onNotice(bell.ring)
  stop.signal.addEventListener('abort', unsubscribe)
  const sequence = begin(store, clock)
  const listening = { ...dependencies, bell, stop: stop.signal }
  void sequence.then((begun) => run(() => passOnNew(begun, dependencies, audience), listening)).catch(() => {})
  return { stop, sequence }
}

/** Starts at the newest notice. Numbers that are missing shortly below it may still become visible. */
async function begin(store: NoticeStore, clock: Clock): Promise<Sequence> {
  const { first, last } = await store.noticeRange()
  const start = Math.max(0, last - lookBack)
  const notices = await store.notices(start, [], lookBack)
  const [oldest] = notices
  // Numbers below the oldest notice were dropped; or it is the first ever, and one below it may still be committed.
  const isSettled = oldest?.number === first && clock.now() - oldest.at >= longestTransactionMs
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
  const lines = { down: "notices can't be read", up: 'notices can be read again' }
  const outage = openOutage({ log, clock, ...lines, level: 'warn' })
  while (!stop.aborted) {
    bell.mute()
    try {
      const { more } = await look()
      outage.worked()
      if (!more && !stop.aborted) await bell.wait(lookMs, stop)
    } catch (error) {
      outage.failed({ cause: error })
      await clock.sleep(lookMs, stop)
    }
  }
}

/** Passes on one page of new notices. If the store fails in between, the page is read again. */
async function passOnNew(
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
    audience.receive({ notice, view: views[at], id: Math.min(notice.number, safe) })
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
