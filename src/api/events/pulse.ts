import type { Clock } from '../../core/clock.ts'
import type { FairTurns } from '../../core/fair.ts'
import { type TaskView, wireStatus } from '../../core/task.ts'
import type { TaskStore } from '../../stores/store.ts'
import { openStep, tellingCost, tellPieces } from '../pieces.ts'
import type { StreamClient } from './client.ts'
import { heartbeat, type Texts } from './texts.ts'

/** A stream, and the tasks in progress that it shows, each with the progress that was told last. Streams may share them. */
export interface Member {
  readonly client: StreamClient
  readonly running: Map<string, number>
  /** The number from which it could go on; null if it can't. */
  place(): number | null
}

/** What is done for all streams by one timer, which runs only while there are some. */
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
/** A heartbeat for each stream in so many beats, not for all in the same one. */
const heartbeatBeats = 15
const progressBeats = 2

export function openPulse(dependencies: PulseDependencies): Pulse {
  const { clock } = dependencies
  const members = new Map<Member, { phase: number }>()
  /** The owners whose streams are being told. */
  const busy = new Set<string>()
  let stop: AbortController | undefined
  let beats = 0

  async function run({ signal }: AbortController): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(beatMs, signal)
      if (signal.aborted) return
      beats += 1
      for (const [{ client, place }, { phase }] of members)
        if ((beats - phase) % heartbeatBeats === 0) client.send(heartbeat(place()))
      if (beats % progressBeats === 0) lookForProgress()
    }
  }

  /** Owners apart: one with much to tell delays no other, nor a heartbeat. */
  function lookForProgress(): void {
    for (const [owner, own] of Map.groupBy(members.keys(), ({ client }) => client.owner)) {
      if (busy.has(owner)) continue
      busy.add(owner)
      // A store that is away is asked again with the next beat.
      const told = tellProgress(owner, own, dependencies).catch(() => {})
      void told.then(() => busy.delete(owner))
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

/** The streams that share a set of tasks in progress, each with the progress that they were told last. */
interface Group {
  running: Map<string, number>
  clients: StreamClient[]
}

/** To all streams of an owner that show a task, where it got on since they were told last; a piece in each turn. */
async function tellProgress(owner: string, members: readonly Member[], dependencies: PulseDependencies): Promise<void> {
  const { store, texts, turns } = dependencies
  const turn = () => turns.take(owner)
  const shown = groupByTask(members)
  const step = openStep()
  for (let at = 0; at < shown.length; ) {
    const piece = shown.slice(at, at + step.size())
    at += piece.length
    const views = await readPiece(store, owner, piece, turn)
    step.learn(views)
    const news = piece.flatMap(([id, groups], place) => newsOf(id, views[place], groups))
    await tellPieces(new Set(news), {
      turn,
      costOf: ({ view }) => tellingCost(view),
      tell: ({ view, client }) => client.send(texts.progress(view, client.nulls)),
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

/** Who is to be told of its progress. */
function newsOf(id: string, view: TaskView | undefined, groups: readonly Group[]) {
  const news: { view: TaskView; client: StreamClient }[] = []
  for (const { running, clients } of groups) {
    // What it became a notice tells.
    if (!view || wireStatus(view) !== 'in_progress') running.delete(id)
    else if (view.progress > (running.get(id) ?? view.progress)) {
      running.set(id, view.progress)
      for (const client of clients) news.push({ view, client })
    }
  }
  return news
}
