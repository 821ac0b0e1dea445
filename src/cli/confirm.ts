import { exits, Failure, UsageFailure } from './failure.ts'
import { painter, printable } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

interface Question {
  /** What it is about, on a line of its own. */
  about: string
  question: string
}

/** Asks before a decision that can't be undone. `reason` says why it has to be confirmed, if there is no terminal to ask. */
export async function confirm(reason: string, read: () => Promise<Question>, terminal: Terminal): Promise<void> {
  if (!terminal.canAsk) throw new UsageFailure(`${reason}, and there is no terminal to ask; use --yes`)
  const { about, question } = await read()
  const paint = painter(terminal.colour.stderr)
  terminal.err(`${printable(about)}\n${paint('bold', question)} [y/N] `)
  const key = await terminal.readKey(new AbortController().signal)
  terminal.err('\n')
  if (key === 'y' || key === 'Y') return
  throw new Failure('nothing was done', { exitCode: exits.interrupted })
}
