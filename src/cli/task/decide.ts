import { exits, Failure, UsageFailure } from '../failure.ts'
import { isOperatorTask, type OperatorTask } from '../operator/answers.ts'
import type { Operator } from '../operator.ts'
import { painter, printable } from '../screen/text.ts'
import { relative } from '../screen/wording.ts'
import { isShortId } from '../slug.ts'
import type { Terminal } from '../terminal.ts'

/** The decisions that can't be taken back, in the words of the question that is asked first. */
const questions = {
  resubmit: 'Submit it anew? If the provider did take it, it is paid for twice.',
  give_up: 'Give it up? It fails, and if the provider did take it, it was paid for in vain.',
}

export type Irrevocable = keyof typeof questions

export function adopt(operator: Operator, id: string, operation: string): Promise<OperatorTask> {
  return operator.post(`${pathOf(id)}/adopt`, isOperatorTask, { operation: readOperation(operation) })
}

export async function decide(
  operator: Operator,
  { id, decision, yes }: { id: string; decision: Irrevocable; yes: boolean },
  terminal: Terminal,
): Promise<OperatorTask> {
  if (!yes) await confirm(operator, id, decision, terminal)
  return operator.post(`${pathOf(id)}/${decision}`, isOperatorTask)
}

/** The end of an id, as `list` shows it, is enough only where the server lists what is one's own. */
export function pathOf(id: string): string {
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

async function confirm(operator: Operator, id: string, decision: Irrevocable, terminal: Terminal): Promise<void> {
  if (!terminal.canAsk) throw new UsageFailure('there is nobody to ask whether this is meant; say --yes')
  const task = await operator.get(pathOf(id), isOperatorTask)
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
function refuseDecided({ id, state, deleted_at: deleted }: OperatorTask): void {
  const what = deleted === null ? `is ${state}, not held` : 'was deleted by its owner'
  if (state !== 'held' || deleted !== null) throw new Failure(`task '${id}' ${what}: there is nothing to decide`)
}
