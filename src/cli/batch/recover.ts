import type { Client } from '../client.ts'
import { ServerFailure } from '../failure.ts'
import { newestFirst } from '../find-task.ts'
import { patiently, type Trouble } from '../patience.ts'
import type { Terminal } from '../terminal.ts'
import type { Task } from '../video.ts'
import type { LineState } from './journal.ts'
import { fingerprint, type Line } from './lines.ts'

/** A line whose submit has no response in the journal. */
export interface OpenLine {
  line: Line
  state: LineState
}

/** Adopt this task; 'none': no task exists, so submit; or it is unknown. */
export type Verdict = { id: string } | 'none' | { unsure: string }

/** Servers count whole seconds, and so does the measured difference of the clocks. */
const toleranceMs = 2_000
/** How long a submit may take to appear in the list after its sender died. Filmgate recognises a repeat for longer. */
const settleMs = 5_000

interface Recovery {
  terminal: Terminal
  signal: AbortSignal
  onTrouble(trouble: Trouble | null): void
  /** Ids that belong to other lines. */
  bound: ReadonlySet<string>
}

/** Looks for the tasks of open lines in the server's list. Call it before new submits, which would look the same. */
export async function recover(
  client: Client,
  open: readonly OpenLine[],
  recovery: Recovery,
): Promise<Map<string, Verdict>> {
  const { terminal, signal } = recovery
  const since = Math.min(...open.map(({ state }) => state.intent.time)) - toleranceMs
  for (;;) {
    let tasks: Task[]
    try {
      tasks = await patiently(() => tasksSince(client, since, signal), recovery)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ServerFailure || error instanceof TooMany)) throw error
      const reason = error instanceof TooMany ? error.message : `the server has no list of videos (${error.status})`
      return new Map(open.map(({ line }) => [line.key, { unsure: reason }]))
    }
    const verdicts = match(open, tasks, recovery.bound)
    const fresh = open.some(
      ({ line, state }) => verdicts.get(line.key) === 'none' && client.serverNow() - latestOf(state) < settleMs,
    )
    if (!fresh) return verdicts
    await terminal.sleep(500, signal)
  }
}

const latestOf = ({ intent }: LineState) => intent.latest ?? intent.time

class TooMany extends Error {}

async function tasksSince(client: Client, since: number, signal: AbortSignal): Promise<Task[]> {
  const tasks: Task[] = []
  for await (const task of newestFirst(client, { signal })) {
    if (task.createdAt !== null && task.createdAt < since) return tasks
    tasks.push(task)
    if (tasks.length === 1_000) throw new TooMany('the server lists too many videos since then')
  }
  return tasks
}

/** Assigns tasks to lines. Lines with the same request may share the found tasks; any other doubt is unsure. */
export function match(
  open: readonly OpenLine[],
  tasks: readonly Task[],
  bound: ReadonlySet<string>,
): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>()
  const groups = Map.groupBy(open, ({ line }) => fingerprint(line.order, null))
  for (const group of groups.values()) {
    const found = tasks.filter((task) => !bound.has(task.id) && group.some((one) => couldBe(one, task)))
    const rivals = open.filter((one) => !group.includes(one) && found.some((task) => couldBe(one, task)))
    const vague = found.some(({ prompt, createdAt }) => prompt === null || createdAt === null)
    const several = found.length > group.length ? `${found.length} videos on the server match` : null
    const doubt =
      several ??
      (vague ? 'the server does not show the prompt or the time of its videos' : null) ??
      (rivals.length > 0 ? `a video on the server could also be that of line ${rivals[0]?.line.number}` : null)
    const oldest = found.toReversed()
    for (const [at, { line }] of group.toSorted((a, b) => a.state.intent.time - b.state.intent.time).entries()) {
      const task = oldest[at]
      verdicts.set(line.key, doubt !== null ? { unsure: doubt } : task ? { id: task.id } : 'none')
    }
  }
  return verdicts
}

/** Whether nothing that the server shows of a task contradicts the line. */
function couldBe({ line: { order }, state: { intent } }: OpenLine, task: Task): boolean {
  const same = (requested: string | number | undefined, shown: string | number | null) =>
    requested === undefined || shown === null || String(requested) === String(shown)
  // Some servers show the dated name of a model.
  const model = task.model === '' || task.model.startsWith(intent.model)
  const late = task.createdAt === null || task.createdAt >= intent.time - toleranceMs
  const prompt = task.prompt === null || task.prompt.trim() === order.prompt.trim()
  return (
    model &&
    late &&
    prompt &&
    same(order.seconds, task.seconds) &&
    same(order.size, task.size) &&
    same(order.seed, task.seed)
  )
}
