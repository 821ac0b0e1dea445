import { exits, Failure, UsageFailure } from '../failure.ts'
import type { Answer, Operator, OperatorTask } from '../operator.ts'
import { painter, printable } from '../screen/text.ts'
import { relative } from '../screen/wording.ts'
import type { Terminal } from '../terminal.ts'

/** The decisions that can't be taken back, in the words of the question that is asked first. */
const questions = {
  resubmit: 'Submit it anew? If the provider did take it, it is paid for twice.',
  give_up: 'Give it up? It fails, and if the provider did take it, it was paid for in vain.',
}

export type Irrevocable = keyof typeof questions

export function adopt(operator: Operator, id: string, operation: string): Promise<Answer> {
  return operator.post(`${pathOf(id)}/adopt`, { operation: readOperation(operation) })
}

export async function decide(
  operator: Operator,
  { id, decision, yes }: { id: string; decision: Irrevocable; yes: boolean },
  terminal: Terminal,
): Promise<Answer> {
  if (!yes) await confirm(operator, id, decision, terminal)
  return operator.post(`${pathOf(id)}/${decision}`)
}

export function pathOf(id: string): string {
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
  const task = (await operator.get(pathOf(id))) as unknown as OperatorTask
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
