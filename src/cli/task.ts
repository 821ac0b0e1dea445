import { moneyText } from '../core/money.ts'
import { type OperatorAttempt, OperatorAttemptList, OperatorTask } from '../wire/operator.ts'
import { fits, isObject, pick, type Read } from '../wire/schema.ts'
import { limitOf, type Values } from './arguments.ts'
import { type Filmgate, operatorHelp } from './client.ts'
import { confirm } from './confirm.ts'
import { connectionOptions } from './connection.ts'
import { Failure, UsageFailure } from './failure.ts'
import { asTyped } from './program.ts'
import { type Column, facts, type Look, lookOf, roomOf, table } from './screen/table.ts'
import { type Paint, painter, printable } from './screen/text.ts'
import { ahead, describeOutput, expiryName, relative, roughly } from './screen/wording.ts'
import { isShortId } from './slug.ts'
import { findTasks, searchOptions, showTasks } from './task-list.ts'
import type { Terminal } from './terminal.ts'
import { type Outcome, operatorCommand, type Verb } from './verbs.ts'
import { readOutput, readWarnings } from './video.ts'

const help = `Usage: filmgate task list [options]      tasks of all owners, newest first
       filmgate task show ID             everything that happened to a task
       filmgate task held                tasks that wait for a decision
       filmgate task adopt ID OPERATION  continue with a job of the provider
       filmgate task resubmit ID         send it again; you may pay twice
       filmgate task give-up ID          let it fail
       filmgate task orphans             jobs without a task, perhaps billed

For operators, with the operator's token. A task is held if it is unknown
whether the provider accepted it, because the response was lost. It is not sent
again before you decide. Look for it at the provider, then decide. Without a
decision it fails, at the latest 30 minutes after it was sent.
ID is the whole id. OPERATION is the id of the job, as the provider's console
shows it, or as \`task show --json\` shows that of another task there.

Examples:
  filmgate task held
  filmgate task list --status failed --since 24h
  filmgate task show video_0193…
  filmgate task adopt video_0193… gen-8814
  filmgate task resubmit video_0193… --yes
  filmgate task orphans --json | jq -r '.data[] | [.account, .id] | @tsv'

Options of list (a task must meet all of them):
  --status STATUS     queued, in_progress, completed or failed
  --state STATE       the internal state, such as held or storing
  --model MODEL       the requested name, or the model's own
  --account ACCOUNT   the account that runs it, or ran it last
  --owner OWNER       a project, the id of a token, or a configured name
  --token-id ID       the token that created it
  --error CODE        the code that it failed with, such as generation_failed
  --text TEXT         a part of the prompt
  --since TIME        created since then: 24h (ago), 2026-11-15, or with a time
  --before TIME       created before then
  --deleted           only deleted tasks

Options:
  --limit N           how many, up to 999 (20; held and orphans: 100)
  -y, --yes           for resubmit and give-up: don't ask for confirmation
  --json              the response of the server; times are ISO 8601 in UTC

${operatorHelp}`

const options = {
  ...connectionOptions,
  ...searchOptions,
  limit: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
} as const

type Given = Values<typeof options>
const AttemptList = pick(OperatorAttemptList, ['object', 'data', 'has_more'])
type AttemptList = Read<typeof AttemptList>

/** The fields that are shown. Servers of other versions may lack the rest. */
const ShownTask = pick(OperatorTask, [
  'id',
  'owner',
  'model',
  'card',
  'prompt',
  'seconds',
  'size',
  'state',
  'status',
  'progress',
  'error',
  'created_at',
  'start_by',
  'finish_by',
  'started_at',
  'completed_at',
  'expires_at',
  'due_at',
  'deleted_at',
  'account',
  'attempts',
  'timeline',
])
export type ShownTask = Read<typeof ShownTask> & { output?: unknown; warnings?: unknown; entries?: unknown }
type ShownAttempt = Read<typeof OperatorAttempt>
type Reason = NonNullable<ShownTask['error']>

const heldTable = { none: 'No task waits for a decision.', showsState: false }
const orphanTable = { none: 'There are no orphaned attempts.', showsState: true }

const verbs: Record<string, Verb<Given>> = {
  list: {
    operands: [],
    accepts: [...(Object.keys(searchOptions) as (keyof typeof searchOptions)[]), 'limit'],
    async run({ operator, values, terminal }) {
      const response = await findTasks(operator, values, terminal)
      return { response: { object: 'list', ...response }, show: () => showTasks(response, terminal) }
    },
  },
  show: {
    operands: ['the id'],
    async run({ operator, operands: [id = ''], terminal }) {
      const response = await operator.get(pathOf(id), ShownTask)
      return { response, show: () => showTask(response, terminal) }
    },
  },
  held: {
    operands: [],
    accepts: ['limit'],
    async run({ operator, values, terminal }) {
      const response = onlyHeld(await listed(operator, ['open'], values))
      return { response, show: () => showAttempts(response, heldTable, terminal) }
    },
  },
  orphans: {
    operands: [],
    accepts: ['limit'],
    async run({ operator, values, terminal }) {
      const response = await listed(operator, ['orphan', 'abandoned'], values)
      return { response, show: () => showAttempts(response, orphanTable, terminal) }
    },
  },
  adopt: {
    operands: ['the id', 'the operation'],
    run: async ({ operator, operands: [id = '', operation = ''] }) =>
      decided('adopted', await adopt(operator, id, operation)),
  },
  resubmit: {
    operands: ['the id'],
    accepts: ['yes'],
    run: async ({ operator, operands: [id = ''], values: { yes = false }, terminal }) =>
      decided('resubmitted', await decide(operator, { id, decision: 'resubmit', yes }, terminal)),
  },
  'give-up': {
    operands: ['the id'],
    accepts: ['yes'],
    run: async ({ operator, operands: [id = ''], values: { yes = false }, terminal }) =>
      decided('given up', await decide(operator, { id, decision: 'give_up', yes }, terminal)),
  },
}

export const command = operatorCommand('task', { help, options, verbs })

/** The attempts of several states, in one list of the shape that the server sends. */
async function listed(
  operator: Filmgate,
  states: string[],
  { limit = '100' }: { limit?: string },
): Promise<AttemptList> {
  const most = limitOf(limit, 999)
  const pages = await Promise.all(
    states.map((state) => operator.get(`/attempts?state=${state}&limit=${most}`, AttemptList)),
  )
  return {
    object: 'list',
    data: pages.flatMap(({ data }) => data),
    has_more: pages.some(({ has_more: more }) => more),
  }
}

/** An open attempt of a task that continued without it needs no decision. */
function onlyHeld(response: AttemptList): AttemptList {
  return { ...response, data: response.data.filter(({ task_state: state }) => state === 'held') }
}

/** `showsState`: attempts of held tasks are all open, which would read as the state of the task. */
function showAttempts(
  { data, has_more: more }: AttemptList,
  { none, showsState }: { none: string; showsState: boolean },
  terminal: Terminal,
): string {
  if (data.length === 0) {
    terminal.err(`${none}\n`)
    return ''
  }
  if (more) terminal.err('There are more: --limit shows up to 999.\n')
  const paint = painter(terminal.colour.stdout)
  const state: Column<AttemptList['data'][number]> = {
    title: 'STATE',
    text: (attempt) => attempt.state,
    paint: (attempt, text) => paintAttempt(attempt.state, text, paint),
  }
  return table(
    data,
    [
      { title: 'TASK', text: ({ task }) => task, paint: (_, text) => paint('bold', text) },
      ...(showsState ? [state] : []),
      { title: 'AGE', text: ({ age_seconds: age }) => roughly(age * 1000), align: 'right' },
      { title: 'ACCOUNT', text: ({ account }) => account, least: 8, below: true },
      { title: 'ATTEMPT', text: ({ id }) => id, extra: true },
      { title: 'MODEL', text: ({ upstream_model: model }) => model, least: 8, extra: true, below: true },
      { title: 'KNOWN', text: outcomeOf, least: 12, below: true },
    ],
    { columns: roomOf(terminal), paint },
  )
}

function decided(what: string, response: ShownTask): Outcome {
  return { response, show: () => `${what}: ${printable(`${response.id} is ${response.state} now`)}\n` }
}

/** The questions before decisions that can't be undone. */
const questions = {
  resubmit: 'Submit it again? If the provider accepted it, you pay twice.',
  give_up: 'Give it up? The task fails. If the provider accepted it, you still pay for it.',
}

type Irrevocable = keyof typeof questions

function adopt(operator: Filmgate, id: string, operation: string): Promise<ShownTask> {
  return operator.post(`${pathOf(id)}/adopt`, ShownTask, { operation: readOperation(operation) })
}

async function decide(
  operator: Filmgate,
  { id, decision, yes }: { id: string; decision: Irrevocable; yes: boolean },
  terminal: Terminal,
): Promise<ShownTask> {
  let attempt: string | undefined
  const ask = async () => {
    const task = await operator.get(pathOf(id), ShownTask)
    attempt = awaitedAttempt(task)?.id
    return questionAbout(task, decision, terminal.now())
  }
  if (!yes) await confirm('this needs a confirmation', ask, terminal)
  // A decision about one attempt must not apply to the next one.
  return operator.post(`${pathOf(id)}/${decision}`, ShownTask, attempt === undefined ? undefined : { attempt })
}

/** Ends of ids may repeat among the tasks of all owners. */
function pathOf(id: string): string {
  if (isShortId(id) && /^[\da-f]+$/i.test(id))
    throw new UsageFailure(
      `'${id}' is the end of an id; use the whole id`,
      `It is in the list:\n  filmgate task list --limit 999`,
    )
  return `/tasks/${encodeURIComponent(id)}`
}

/** JSON if it looks like JSON. An id of digits only stays a text. */
function readOperation(text: string): unknown {
  if (!/^\s*[{"]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageFailure('the operation starts like JSON but is not valid JSON; quote it for the shell')
  }
}

function questionAbout(task: ShownTask, decision: Irrevocable, now: number) {
  refuseDecided(task)
  const sent = awaitedAttempt(task)
  const age = sent ? `, sent to ${sent.account} ${relative(Date.parse(sent.opened_at), now)}` : ''
  return { about: `${task.id} is ${task.state}${age}: ${task.prompt}`, question: questions[decision] }
}

/** What a held task waits for. The orphan of a second operation may be listed after it. */
function awaitedAttempt({ attempts }: ShownTask) {
  return attempts.findLast(({ state }) => state !== 'orphan')
}

/** Before the question: the server would refuse the decision. */
function refuseDecided({ id, state, deleted_at: deleted }: ShownTask): void {
  const what = deleted === null ? `is ${state}, not held` : 'was deleted by its owner'
  if (state !== 'held' || deleted !== null) throw new Failure(`task '${id}' ${what}: there is nothing to decide`)
}

/** The facts of a task, its attempts, its timeline, and its money. */
export function showTask(task: ShownTask, terminal: Terminal): string {
  const look = lookOf(terminal)
  const parts = [header(task, terminal.now(), look), attempts(task, look), timeline(task, look), ...entries(task, look)]
  return [...parts, ...nextCommands(task, terminal)].join('\n')
}

/** The commands for a held task, which waits for a decision. */
function nextCommands({ id, state, deleted_at: deleted }: ShownTask, { env }: Terminal): string[] {
  if (state !== 'held' || deleted !== null) return []
  const commands = `Look for it at the provider, then decide.
Without a decision it fails, at the latest 30 minutes after it was sent.
  filmgate task adopt ${id} <the provider's id>
  filmgate task resubmit ${id}
  filmgate task give-up ${id}
`
  return [asTyped(commands, env)]
}

function header(task: ShownTask, now: number, look: Look): string {
  const time = (at: string | null) => (at === null ? '' : `${relative(Date.parse(at), now)} (${at})`)
  const unfinished = task.status === 'queued' || task.status === 'in_progress'
  const state = `${task.state}${task.status === task.state ? '' : `, shown to its owner as ${task.status}`}`
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
    [expiryName(Date.parse(task.expires_at ?? ''), now), time(task.expires_at)],
    ['deleted', time(task.deleted_at)],
    ['must start', unfinished && task.started_at === null ? time(task.start_by) : ''],
    ['must end', unfinished ? time(task.finish_by) : ''],
  ] as const
  return facts(pairs, look)
}

function nextTime(at: string | null, now: number): string {
  return at === null ? '' : `${ahead(Date.parse(at), now)} (${at})`
}

/** The last problem in the current state or, if the task failed, the cause, which only the timeline has. */
function problemOf({ state, error, timeline }: ShownTask): Reason | null {
  const before = timeline.findLastIndex(({ name }) => name === state)
  // Including the event at the same time: it led to this state and says why.
  const first = timeline[before - 1]?.at === timeline[before]?.at ? before - 1 : before
  const here = state === 'failed' ? timeline.slice(0, Math.max(0, before)) : timeline.slice(Math.max(0, first))
  for (const { name, detail } of here.toReversed()) {
    if (typeof detail === 'string' && state !== 'failed') return { code: name, message: detail }
    if (!isObject(detail) || typeof detail.code !== 'string' || typeof detail.message !== 'string') continue
    if (state !== 'failed' || detail.code === error?.code) return { code: detail.code, message: detail.message }
  }
  return null
}

function attempts({ created_at: from, attempts }: ShownTask, look: Look): string {
  if (attempts.length === 0) return 'Nothing was sent to a provider.\n'
  return table<ShownAttempt>(
    attempts,
    [
      { title: '#', text: ({ number }) => String(number), align: 'right' },
      { title: 'ATTEMPT', text: ({ id }) => id },
      { title: 'STATE', text: ({ state }) => state, paint: ({ state }, text) => paintAttempt(state, text, look.paint) },
      { title: 'ACCOUNT', text: ({ account }) => account, least: 8 },
      { title: 'OPENED', text: ({ opened_at: at }) => since(from, at), align: 'right' },
      {
        title: 'SETTLED',
        text: ({ settled_at: at }) => (at === null ? '' : since(from, at)),
        align: 'right',
        extra: true,
      },
      { title: 'MODEL', text: ({ upstream_model: model }) => model, least: 8, extra: true, below: true },
      { title: 'KEY', text: ({ key_version: version }) => version, extra: true },
      { title: 'OUTCOME', text: outcomeOf, least: 12, below: true },
    ],
    look,
  )
}

/** The provider's id of the job, or why it is not known. */
function outcomeOf({ operation, problem }: Pick<ShownAttempt, 'operation' | 'problem'>): string {
  return operation === null ? reasonText(problem) : wordsOf(operation)
}

/** Never cut to the screen, so that it has the texts that other tables cut. */
function timeline(task: ShownTask, look: Look): string {
  const { created_at: from } = task
  const numbered = numbersOf(task)
  const warnings = readWarnings(task.warnings).join(' ')
  const events = [{ at: from, name: 'created', detail: null }, ...task.timeline]
  // The facts of the task have them.
  const isShownAbove = ({ name, detail }: { name: string; detail: unknown }) =>
    name === 'warning' && detail === warnings
  return table(
    withoutRepeats(events.filter((event) => !isShownAbove(event))),
    [
      { title: 'TIME', text: ({ at }) => since(from, at), align: 'right', paint: (_, text) => look.paint('dim', text) },
      { title: 'EVENT', text: ({ name }) => name, paint: (_, text) => look.paint('bold', text) },
      {
        title: 'DETAIL',
        text: ({ detail, times, last }) => {
          const repeated = times > 1 ? [`${times} times until ${since(from, last)}`] : []
          return [numbered(detailOf(detail)).replace(/^attempt (#\d+)(, number \d+)?/, '$1'), ...repeated]
            .filter((text) => text !== '')
            .join(', ')
        },
        least: 20,
        wrap: true,
      },
    ],
    look,
  )
}

interface Repeated {
  at: string
  name: string
  detail: unknown
  /** How often the same event happened in a row, and when it did last. */
  times: number
  last: string
}

/** A provider that fails for an hour causes the same event for each try: these are one line. */
function withoutRepeats(events: readonly { at: string; name: string; detail: unknown }[]): Repeated[] {
  const isSame = (one: Repeated, name: string, detail: unknown) =>
    one.name === name && detail !== null && JSON.stringify(lastTry(one.detail)) === JSON.stringify(lastTry(detail))
  const shown: Repeated[] = []
  for (const { at, name, detail } of events) {
    const before = shown.at(-1)
    if (before && isSame(before, name, detail)) Object.assign(before, { detail, times: before.times + 1, last: at })
    else shown.push({ at, name, detail, times: 1, last: at })
  }
  return shown
}

/** Without the number of the try. */
function lastTry(detail: unknown): unknown {
  return isObject(detail) ? { ...detail, tries: undefined } : detail
}

/** Replaces ids of attempts with their numbers in the table of attempts. */
function numbersOf({ attempts }: ShownTask): (text: string) => string {
  const numbers = new Map(attempts.map(({ id, number }) => [id, `#${number}`]))
  return (text) => text.replaceAll(/\batt_[0-9a-f]+/g, (id) => numbers.get(id) ?? id)
}

/** What was posted for it in the ledger. A free task has no entries, and an older server sends none. */
function entries(task: ShownTask, look: Look): string[] {
  const { created_at: from, entries: posted } = task
  if (!fits(OperatorTask.properties.entries, posted) || posted.length === 0) return []
  const numbered = numbersOf(task)
  const money = table(
    posted,
    [
      { title: 'TIME', text: ({ at }) => since(from, at), align: 'right', paint: (_, text) => look.paint('dim', text) },
      { title: 'STEP', text: ({ step }) => numbered(step), paint: (_, text) => look.paint('bold', text) },
      { title: 'ACCOUNT', text: ({ account }) => account, least: 16, cut: 'middle' },
      {
        title: 'AMOUNT',
        text: ({ amount, currency }) => moneyText(Math.round(amount * 1e6), currency),
        align: 'right',
      },
    ],
    look,
  )
  return [money]
}

/** `+0:07.412`: since the task was created. */
function since(from: string, at: string): string {
  const ms = Date.parse(at) - Date.parse(from)
  const [sign, length] = [ms < 0 ? '-' : '+', Math.abs(ms)]
  const [hours, minutes] = [Math.floor(length / 3_600_000), Math.floor(length / 60_000) % 60]
  const seconds = ((length % 60_000) / 1000).toFixed(3).padStart(6, '0')
  return `${sign}${hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}` : minutes}:${seconds}`
}

/** `name value, name value`; nested values stay JSON. */
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

function paintAttempt(state: string, text: string, paint: Paint): string {
  const colours = { open: 'yellow', accepted: 'green', refused: 'dim', abandoned: 'yellow', orphan: 'red' } as const
  return Object.hasOwn(colours, state) ? paint(colours[state as keyof typeof colours], text) : text
}
