import type { Clock } from '../../core/clock.ts'
import type { FairTurns } from '../../core/fair.ts'
import { isFinished, type Status, type StatusDetail, statusDetail, type TaskView, wireStatus } from '../../core/task.ts'
import type { TaskStore } from '../../stores/store.ts'
import type { Estimates } from '../estimates.ts'
import { openStep, sendCost, sendInPieces } from '../pieces.ts'
import type { StreamClient } from './client.ts'
import { heartbeat, type Texts } from './texts.ts'

/** What a stream has sent of a task. */
export interface Sent {
  status: Status
  progress: number
  detail: StatusDetail | null
}

export function sentOf(view: TaskView, estimates: Pick<Estimates, 'known'>): Sent {
  const { isAvailable } = estimates.known(view)
  return { status: wireStatus(view), progress: view.progress, detail: statusDetail(view, isAvailable) }
}

/** A stream, and the unfinished tasks that it follows, each with what was sent last. Streams may share them. */
export interface Member {
  readonly client: StreamClient
  readonly followed: Map<string, Sent>
  /** The number from which the client could continue; null if it can't. */
  position(): number | null
  /** Ends the stream if its token is no longer accepted. */
  check(): void
}

/** Heartbeats and progress for all streams, by one timer that runs only while there are streams. */
export interface Pulse {
  add(member: Member): void
  remove(member: Member): void
}

interface PulseDependencies {
  store: TaskStore
  clock: Clock
  estimates: Estimates
  texts: Texts
  turns: FairTurns
}

const beatMs = 1_000
/** Each stream gets a heartbeat every so many beats, but not all in the same beat. */
const heartbeatBeats = 15
const progressBeats = 2

export function openPulse(dependencies: PulseDependencies): Pulse {
  const { clock } = dependencies
  const members = new Map<Member, { phase: number }>()
  /** The owners whose streams are receiving progress. */
  const busy = new Set<string>()
  let stop: AbortController | undefined
  let beats = 0

  async function run({ signal }: AbortController): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(beatMs, signal)
      if (signal.aborted) return
      beats += 1
      for (const [{ client, position, check }, { phase }] of members)
        if ((beats - phase) % heartbeatBeats === 0) {
          client.send(heartbeat(position()))
          check()
        }
      if (beats % progressBeats === 0) lookForProgress()
    }
  }

  /** Each owner separately, so that one with much progress delays neither other owners nor heartbeats. */
  function lookForProgress(): void {
    for (const [owner, own] of Map.groupBy(members.keys(), ({ client }) => client.owner)) {
      if (busy.has(owner)) continue
      busy.add(owner)
      // If the store is unavailable, the next beat tries again.
      const sent = sendProgress(owner, own, dependencies).catch(() => {})
      void sent.then(() => busy.delete(owner))
    }
  }

  return {
    add(member) {
      members.set(member, { phase: beats + members.size })
      if (stop) return
      stop = new AbortController()
      void run(stop)
    },
    remove(member) {
      members.delete(member)
      if (members.size > 0) return
      stop?.abort()
      stop = undefined
    },
  }
}

/** The streams that share a set of unfinished tasks, each with what was sent last. */
interface Group {
  followed: Map<string, Sent>
  clients: StreamClient[]
}

/** Sends new progress and new details to all streams of an owner that show the task, one piece in each turn. */
async function sendProgress(owner: string, members: readonly Member[], dependencies: PulseDependencies): Promise<void> {
  const { store, estimates, texts, turns } = dependencies
  const turn = () => turns.take(owner)
  const shown = groupByTask(members)
  const step = openStep()
  for (let at = 0; at < shown.length; ) {
    const piece = shown.slice(at, at + step.size())
    at += piece.length
    const views = await readPiece(store, owner, piece, turn)
    step.learn(views)
    // Reads the queue of each model, at most once a second for all streams and polls.
    await Promise.all(views.map((view) => view && estimates.of(view)))
    const updates = piece.flatMap(([id, groups], index) => updatesOf(id, views[index], groups, estimates))
    await sendInPieces(new Set(updates), {
      turn,
      costOf: ({ view }) => sendCost(view),
      send({ view, client, isCurrent }) {
        if (isCurrent()) client.send(texts.progress(view, client.nulls))
      },
    })
  }
}

function groupByTask(members: readonly Member[]): [id: string, groups: Group[]][] {
  const tasks = new Map<string, Group[]>()
  for (const [followed, group] of Map.groupBy(members, (member) => member.followed)) {
    const clients = group.map(({ client }) => client)
    for (const id of followed.keys()) tasks.set(id, [...(tasks.get(id) ?? []), { followed, clients }])
  }
  return [...tasks]
}

async function readPiece(
  store: TaskStore,
  owner: string,
  piece: readonly [id: string, groups: Group[]][],
  turn: () => Promise<Disposable>,
): Promise<(TaskView | undefined)[]> {
  using _turn = await turn()
  return await Promise.all(piece.map(([id]) => store.read(owner, id)))
}

/** The clients that receive the new progress, or the new detail, of a task. */
function updatesOf(id: string, view: TaskView | undefined, groups: readonly Group[], estimates: Estimates) {
  const updates: { view: TaskView; client: StreamClient; isCurrent(): boolean }[] = []
  for (const { followed, clients } of groups) {
    const before = followed.get(id)
    const now = view && !isFinished(view) ? sentOf(view, estimates) : undefined
    // A notice reports a new status, and the end.
    if (!view || !now) followed.delete(id)
    else if (before?.status === now.status && (now.progress > before.progress || now.detail !== before.detail)) {
      followed.set(id, now)
      // The event of a new status may be sent before this one has its turn.
      const isCurrent = () => followed.get(id) === now
      for (const client of clients) updates.push({ view, client, isCurrent })
    }
  }
  return updates
}
