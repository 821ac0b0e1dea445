import type { Clock } from '../../core/clock.ts'
import type { FairTurns } from '../../core/fair.ts'
import { type TaskView, wireStatus } from '../../core/task.ts'
import type { TaskStore } from '../../stores/store.ts'
import { openStep, sendCost, sendInPieces } from '../pieces.ts'
import type { StreamClient } from './client.ts'
import { heartbeat, type Texts } from './texts.ts'

/**
 * A stream, and the tasks in progress that it shows, each with the progress that was sent last. Streams may share them.
 */
export interface Member {
  readonly client: StreamClient
  readonly running: Map<string, number>
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

/** The streams that share a set of tasks in progress, each with the progress that was sent last. */
interface Group {
  running: Map<string, number>
  clients: StreamClient[]
}

/** Sends new progress to all streams of an owner that show the task, one piece in each turn. */
async function sendProgress(owner: string, members: readonly Member[], dependencies: PulseDependencies): Promise<void> {
  const { store, texts, turns } = dependencies
  const turn = () => turns.take(owner)
  const shown = groupByTask(members)
  const step = openStep()
  for (let at = 0; at < shown.length; ) {
    const piece = shown.slice(at, at + step.size())
    at += piece.length
    const views = await readPiece(store, owner, piece, turn)
    step.learn(views)
    const updates = piece.flatMap(([id, groups], index) => updatesOf(id, views[index], groups))
    await sendInPieces(new Set(updates), {
      turn,
      costOf: ({ view }) => sendCost(view),
      send: ({ view, client }) => client.send(texts.progress(view, client.nulls)),
    })
  }
}

function groupByTask(members: readonly Member[]): [id: string, groups: Group[]][] {
  const tasks = new Map<string, Group[]>()
  for (const [running, group] of Map.groupBy(members, (member) => member.running)) {
    const clients = group.map(({ client }) => client)
    for (const id of running.keys()) tasks.set(id, [...(tasks.get(id) ?? []), { running, clients }])
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

/** The clients that receive the progress of a task. */
function updatesOf(id: string, view: TaskView | undefined, groups: readonly Group[]) {
  const updates: { view: TaskView; client: StreamClient }[] = []
  for (const { running, clients } of groups) {
    // A notice reports its new status.
    if (!view || wireStatus(view) !== 'in_progress') running.delete(id)
    else if (view.progress > (running.get(id) ?? view.progress)) {
      running.set(id, view.progress)
      for (const client of clients) updates.push({ view, client })
    }
  }
  return updates
}
