import { OperatorAttemptList } from '../wire/operator.ts'
import type { Read } from '../wire/schema.ts'
import { readArguments, suggestion, type Values } from './arguments.ts'
import { type Filmgate, openOperator, operatorHelp } from './client/filmgate.ts'
import type { Command } from './command.ts'
import { connectionOptions } from './connection.ts'
import { exits, Failure, UsageFailure } from './failure.ts'
import { table } from './screen/table.ts'
import { jsonLine, painter, printable } from './screen/text.ts'
import { relative, roughly } from './screen/wording.ts'
import { isShortId } from './slug.ts'
import { outcomeOf, paintAttempt, ShownTask, showTask } from './task/show.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate task show ID             all that happened to a task
       filmgate task held                what waits for a decision
       filmgate task adopt ID OPERATION  the provider has it, as this: go on
       filmgate task resubmit ID         send it again, and perhaps pay twice
       filmgate task give-up ID          let it fail
       filmgate task orphans             what may be paid for, and is nobody's

For operators, with the operator's token. A task is held when nobody knows
whether a provider took it: the answer was lost. It is never blindly sent again.
Look for it at the provider, then decide; undecided, it fails after 30 minutes.
ID is the whole id. OPERATION is the id that the provider gave its work, as its
console shows it, or what \`task show --json\` shows of another task there.

Examples:
  filmgate task held
  filmgate task show video_0193…
  filmgate task adopt video_0193… gen-8814
  filmgate task resubmit video_0193… --yes
  filmgate task orphans --json | jq -r '.data[] | [.account, .id] | @tsv'

Options:
  --limit N           of held and orphans: how many, up to 999 (100)
  -y, --yes           of resubmit and give-up: don't ask
  --json              the server's own answer; times are ISO 8601 in UTC

${operatorHelp}`

const options = { ...connectionOptions, limit: { type: 'string' }, yes: { type: 'boolean', short: 'y' } } as const

type Given = Values<typeof options>
type AttemptList = Read<typeof OperatorAttemptList>

/** What a word after `task` does: it asks the server, and knows how the answer looks to a person. */
interface Verb {
  operands: readonly string[]
  run(operator: Filmgate, operands: string[], values: Given, terminal: Terminal): Promise<Shown>
}

interface Shown {
  answer: object
  show(): string
}

const verbs: Record<string, Verb> = {
  show: {
    operands: ['the id'],
    async run(operator, [id = ''], _, terminal) {
      const answer = await operator.get(pathOf(id), ShownTask)
      return { answer, show: () => showTask(answer, terminal) }
    },
  },
  held: {
    operands: [],
    async run(operator, _, values, terminal) {
      const answer = onlyHeld(await listed(operator, ['open'], values))
      return { answer, show: () => showAttempts(answer, 'No task waits for a decision.', terminal) }
    },
  },
  orphans: {
    operands: [],
    async run(operator, _, values, terminal) {
      const answer = await listed(operator, ['orphan', 'abandoned'], values)
      return { answer, show: () => showAttempts(answer, 'No attempt was left behind.', terminal) }
    },
  },
  adopt: {
    operands: ['the id', 'the operation'],
    run: async (operator, [id = '', operation = '']) => decided('adopted', await adopt(operator, id, operation)),
  },
  resubmit: {
    operands: ['the id'],
    run: async (operator, [id = ''], { yes = false }, terminal) =>
      decided('resubmitted', await decide(operator, { id, decision: 'resubmit', yes }, terminal)),
  },
  'give-up': {
    operands: ['the id'],
    run: async (operator, [id = ''], { yes = false }, terminal) =>
      decided('given up', await decide(operator, { id, decision: 'give_up', yes }, terminal)),
  },
}

export const command: Command = {
  help,
  async run([word = '', ...args], terminal) {
    const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
    if (!verb) {
      const known = Object.keys(verbs)
      const advice = suggestion(word, known) || `; say one of: ${known.join(', ')}`
      throw new UsageFailure(
        word === '' ? `what about the task?${advice.slice(1)}` : `there is no 'task ${word}'${advice}`,
      )
    }
    const { values, operands } = readArguments(args, { options, operands: verb.operands })
    const { answer, show } = await verb.run(openOperator(values, terminal), operands, values, terminal)
    terminal.out(values.json ? jsonLine(answer) : show())
    return 0
  },
}

/** The attempts of these states in one list, as the server would give it. */
async function listed(
  operator: Filmgate,
  states: string[],
  { limit = '100' }: { limit?: string },
): Promise<AttemptList> {
  if (!/^[1-9]\d{0,2}$/.test(limit)) throw new UsageFailure(`--limit ${limit}: use a number from 1 to 999`)
  const pages = await Promise.all(
    states.map((state) => operator.get(`/attempts?state=${state}&limit=${limit}`, OperatorAttemptList)),
  )
  return {
    object: 'list',
    data: pages.flatMap(({ data }) => data),
    has_more: pages.some(({ has_more: more }) => more),
  }
}

/** An open attempt of a task that went on without it is nobody's to decide. */
function onlyHeld(answer: AttemptList): AttemptList {
  return { ...answer, data: answer.data.filter(({ task_state: state }) => state === 'held') }
}

function showAttempts({ data, has_more: more }: AttemptList, none: string, terminal: Terminal): string {
  if (data.length === 0) {
    terminal.err(`${none}\n`)
    return ''
  }
  if (more) terminal.err('There are more: --limit shows up to 999.\n')
  const paint = painter(terminal.colour.stdout)
  return table<AttemptList['data'][number]>(
    data,
    [
      { title: 'TASK', text: ({ task }) => task, paint: (_, text) => paint('bold', text) },
      { title: 'STATE', text: ({ state }) => state, paint: ({ state }, text) => paintAttempt(state, text, paint) },
      { title: 'AGE', text: ({ age_seconds: age }) => roughly(age * 1000), align: 'right' },
      { title: 'ACCOUNT', text: ({ account }) => account, least: 8 },
      { title: 'ATTEMPT', text: ({ id }) => id, extra: true },
      { title: 'MODEL', text: ({ upstream_model: model }) => model, least: 8, extra: true },
      { title: 'KNOWN', text: outcomeOf, least: 12 },
    ],
    { columns: terminal.stdoutIsTerminal ? terminal.size().columns : null, paint },
  )
}

function decided(what: string, answer: ShownTask): Shown {
  return { answer, show: () => `${what}: ${printable(`${answer.id} is ${answer.state} now`)}\n` }
}

/** The decisions that can't be taken back, in the words of the question that is asked first. */
const questions = {
  resubmit: 'Submit it anew? If the provider did take it, it is paid for twice.',
  give_up: 'Give it up? It fails, and if the provider did take it, it was paid for in vain.',
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
  if (!yes) await confirm(operator, id, decision, terminal)
  return operator.post(`${pathOf(id)}/${decision}`, ShownTask)
}

/** The end of an id, as `list` shows it, is enough only where the server lists what is one's own. */
function pathOf(id: string): string {
  if (isShortId(id) && /^[\da-f]+$/i.test(id))
    throw new UsageFailure(
      `'${id}' is the end of an id: here the whole one is needed`,
      `It is in:\n  filmgate get ${id}`,
    )
  return `/tasks/${encodeURIComponent(id)}`
}

/** JSON where it looks like JSON: an id of digits alone is a text all the same. */
function readOperation(text: string): unknown {
  if (!/^\s*[{"]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageFailure('the operation begins like JSON and is none; was it quoted for the shell?')
  }
}

async function confirm(operator: Filmgate, id: string, decision: Irrevocable, terminal: Terminal): Promise<void> {
  if (!terminal.canAsk) throw new UsageFailure('there is nobody to ask whether this is meant; say --yes')
  const task = await operator.get(pathOf(id), ShownTask)
  refuseDecided(task)
  const last = task.attempts.at(-1)
  const paint = painter(terminal.colour.stderr)
  const age = last ? `, sent to ${last.account} ${relative(Date.parse(last.opened_at), terminal.now())}` : ''
  const about = printable(`${task.id} is ${task.state}${age}: ${task.prompt}`)
  terminal.err(`${about}\n${paint('bold', questions[decision])} [y/N] `)
  const key = await terminal.readKey(new AbortController().signal)
  terminal.err('\n')
  if (key === 'y' || key === 'Y') return
  throw new Failure('nothing was done', { exitCode: exits.interrupted })
}

/** Else a person would be asked about what the server refuses anyway. */
function refuseDecided({ id, state, deleted_at: deleted }: ShownTask): void {
  const what = deleted === null ? `is ${state}, not held` : 'was deleted by its owner'
  if (state !== 'held' || deleted !== null) throw new Failure(`task '${id}' ${what}: there is nothing to decide`)
}
