import { type OperatorAttempt, OperatorTask } from '../../wire/operator.ts'
import { isObject, pick, type Read } from '../../wire/schema.ts'
import { asTyped } from '../program.ts'
import { facts, table } from '../screen/table.ts'
import { type Paint, painter } from '../screen/text.ts'
import { ahead, describeOutput, relative } from '../screen/wording.ts'
import type { Terminal } from '../terminal.ts'
import { readOutput, readWarnings } from '../video.ts'

/** What is read of a task. Servers of other versions may lack the rest. */
export const ShownTask = pick(OperatorTask, [
  ...(['id', 'owner', 'model', 'card', 'prompt', 'seconds', 'size', 'state', 'status', 'progress', 'error'] as const),
  ...(['created_at', 'start_by', 'finish_by', 'started_at', 'completed_at', 'expires_at', 'due_at'] as const),
  ...(['deleted_at', 'account', 'attempts', 'timeline'] as const),
])
export type ShownTask = Read<typeof ShownTask> & { output?: unknown; warnings?: unknown }
type Attempt = Read<typeof OperatorAttempt>
type Reason = NonNullable<ShownTask['error']>

/** A task for the eye: what it is, what was tried, and all that happened, in order. */
export function showTask(task: ShownTask, terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const parts = [header(task, terminal.now(), paint), attempts(task, terminal, paint), timeline(task, paint)]
  return [...parts, ...nextCommands(task, terminal)].join('\n')
}

/** What an operator can type now: a held task waits for a decision. */
function nextCommands({ id, state, deleted_at: deleted }: ShownTask, { env }: Terminal): string[] {
  if (state !== 'held' || deleted !== null) return []
  const commands = `Look for it at the provider, then decide. Undecided it fails 30 minutes after it was held.
  filmgate task adopt ${id} <the provider's id>
  filmgate task resubmit ${id}
  filmgate task give-up ${id}
`
  return [asTyped(commands, env)]
}

function header(task: ShownTask, now: number, paint: Paint): string {
  const time = (at: string | null) => (at === null ? '' : `${relative(Date.parse(at), now)} (${at})`)
  const unfinished = task.status === 'queued' || task.status === 'in_progress'
  const state = `${task.state}${task.status === task.state ? '' : `, which its owner sees as ${task.status}`}`
  const problem = problemOf(task)
  const output = readOutput(task.output)
  const failed = task.state === 'failed' ? task.timeline.findLast(({ name }) => name === 'failed') : undefined
  const pairs = [
    ['id', task.id],
    ['owner', task.owner],
    ['state', `${state}${task.status === 'in_progress' ? `, ${task.progress} %` : ''}`],
    ['error', reasonText(task.error && (problem ?? task.error))],
    ['problem', unfinished ? reasonText(problem) : ''],
    [problem && task.state !== 'held' ? 'next try' : 'next step', unfinished ? nextTime(task.due_at, now) : ''],
    ['prompt', task.prompt],
    ['model', task.card === task.model ? task.model : `${task.model} = ${task.card}`],
    ['requested', `${task.seconds} s, ${task.size}`],
    ['output', output ? describeOutput(output) : ''],
    ...readWarnings(task.warnings).map((warning) => ['warning', warning, 'yellow'] as const),
    ['account', task.account ?? ''],
    ['created', time(task.created_at)],
    ['started', time(task.started_at)],
    ['completed', time(task.completed_at)],
    ['failed', time(failed?.at ?? null)],
    ['expires', time(task.expires_at)],
    ['deleted', time(task.deleted_at)],
    ['must start', unfinished && task.started_at === null ? time(task.start_by) : ''],
    ['must end', unfinished ? time(task.finish_by) : ''],
  ] as const
  return facts(
    pairs.filter(([, value]) => value !== ''),
    paint,
  )
}

function nextTime(at: string | null, now: number): string {
  return at === null ? '' : `${ahead(Date.parse(at), now)} (${at})`
}

/**
 * What the task met last in the state that it is in or, if it failed, what it failed of: the timeline has the cause, which
 * its owner is not told.
 */
function problemOf({ state, error, timeline }: ShownTask): Reason | null {
  const before = timeline.findLastIndex(({ name }) => name === state)
  // With what came in the same moment: the step that led here says why.
  const first = timeline[before - 1]?.at === timeline[before]?.at ? before - 1 : before
  const here = state === 'failed' ? timeline.slice(0, Math.max(0, before)) : timeline.slice(Math.max(0, first))
  for (const { name, detail } of here.toReversed()) {
    if (typeof detail === 'string' && state !== 'failed') return { code: name, message: detail }
    if (!isObject(detail) || typeof detail.code !== 'string' || typeof detail.message !== 'string') continue
    if (state !== 'failed' || detail.code === error?.code) return { code: detail.code, message: detail.message }
  }
  return null
}

function attempts({ created_at: from, attempts }: ShownTask, terminal: Terminal, paint: Paint): string {
  if (attempts.length === 0) return 'Nothing was sent to a provider.\n'
  const room = terminal.stdoutIsTerminal ? terminal.size().columns : null
  return table<Attempt>(
    attempts,
    [
      { title: '#', text: ({ number }) => String(number), align: 'right' },
      { title: 'ATTEMPT', text: ({ id }) => id },
      { title: 'STATE', text: ({ state }) => state, paint: ({ state }, text) => paintAttempt(state, text, paint) },
      { title: 'ACCOUNT', text: ({ account }) => account },
      { title: 'OPENED', text: ({ opened_at: at }) => since(from, at), align: 'right' },
      {
        title: 'SETTLED',
        text: ({ settled_at: at }) => (at === null ? '' : since(from, at)),
        align: 'right',
        extra: true,
      },
      { title: 'MODEL', text: ({ upstream_model: model }) => model, least: 8, extra: true },
      { title: 'KEY', text: ({ key_version: version }) => version, extra: true },
      { title: 'OUTCOME', text: outcomeOf, least: 12 },
    ],
    { columns: room, paint },
  )
}

/** What is known of it: the provider's handle on the work, or why there is none. */
export function outcomeOf({ operation, problem }: Pick<Attempt, 'operation' | 'problem'>): string {
  return operation === null ? reasonText(problem) : wordsOf(operation)
}

/** Whole, whatever the screen: this is where one looks for what was cut elsewhere. */
function timeline({ created_at: from, timeline }: ShownTask, paint: Paint): string {
  const events = [{ at: from, name: 'created', detail: null }, ...timeline]
  return table(
    events,
    [
      { title: 'TIME', text: ({ at }) => since(from, at), align: 'right', paint: (_, text) => paint('dim', text) },
      { title: 'EVENT', text: ({ name }) => name, paint: (_, text) => paint('bold', text) },
      { title: 'DETAIL', text: ({ detail }) => detailOf(detail) },
    ],
    { columns: null, paint },
  )
}

/** `+0:07.412`: since the task was made. */
function since(from: string, at: string): string {
  const ms = Date.parse(at) - Date.parse(from)
  const [sign, length] = [ms < 0 ? '-' : '+', Math.abs(ms)]
  const [hours, minutes] = [Math.floor(length / 3_600_000), Math.floor(length / 60_000) % 60]
  const seconds = ((length % 60_000) / 1000).toFixed(3).padStart(6, '0')
  return `${sign}${hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}` : minutes}:${seconds}`
}

/** `name value, name value`; what is nested stays JSON. */
function detailOf(detail: unknown): string {
  if (typeof detail !== 'object' || detail === null || Array.isArray(detail)) return wordsOf(detail)
  return Object.entries(detail)
    .map(([name, value]) => `${name} ${wordsOf(value)}`)
    .join(', ')
}

function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function reasonText(reason: Reason | null): string {
  return reason === null ? '' : `${reason.message} (${reason.code})`
}

export function paintAttempt(state: string, text: string, paint: Paint): string {
  const colours = { open: 'yellow', accepted: 'green', refused: 'dim', abandoned: 'yellow', orphan: 'red' } as const
  return Object.hasOwn(colours, state) ? paint(colours[state as keyof typeof colours], text) : text
}
