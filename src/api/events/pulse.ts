import type { Clock } from '../../core/clock.ts'
import { type TaskView, wireStatus } from '../../core/task.ts'
import type { Store } from '../../stores/store.ts'
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
  store: Store
  clock: Clock
  texts: Texts
}

const beatMs = 1_000
/** A heartbeat for each stream in so many beats, not for all in the same one. */
const heartbeatBeats = 15
const progressBeats = 2
/** So many tasks are read before others get their turn: a store may read on this thread. */
const batchSize = 200

export function openPulse(dependencies: PulseDependencies): Pulse {
  const { clock } = dependencies
  const members = new Map<Member, { phase: number }>()
  let stop: AbortController | undefined
  let beats = 0

  async function run({ signal }: AbortController): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(beatMs, signal)
      if (signal.aborted) return
      beats += 1
      for (const [{ client, place }, { phase }] of members)
        if ((beats - phase) % heartbeatBeats === 0) client.send(heartbeat(place()))
      // A store that is away is asked again with the next beat.
      if (beats % progressBeats === 0) await tellProgress([...members.keys()], dependencies).catch(() => {})
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

/** To all members that show a task, where it got on since they were told last. */
async function tellProgress(members: readonly Member[], { store, texts }: PulseDependencies): Promise<void> {
  const groups = Map.groupBy(members, ({ running }) => running)
  const wanted = [...groups].flatMap(([running, group]) =>
    [...running.keys()].map((id) => ({ id, owner: group[0]?.client.owner ?? '', running, group })),
  )
  const views = await readAll(store, wanted)
  for (const { id, running, group } of wanted) {
    const view = views.get(id)
    // What it became a notice tells.
    if (!view || wireStatus(view) !== 'in_progress') running.delete(id)
    else if (view.progress > (running.get(id) ?? view.progress)) {
      running.set(id, view.progress)
      for (const { client } of group) client.send(texts.progress(view, client.nulls))
    }
  }
}

async function readAll(store: Store, wanted: readonly { id: string; owner: string }[]): Promise<Map<string, TaskView>> {
  const views = new Map<string, TaskView>()
  for (let at = 0; at < wanted.length; at += batchSize) {
    const batch = wanted.slice(at, at + batchSize)
    for (const view of await Promise.all(batch.map(({ owner, id }) => store.read(owner, id))))
      if (view) views.set(view.id, view)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return views
}
