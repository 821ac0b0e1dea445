import { randomUUID } from 'node:crypto'
import type { Client, Film } from './client.ts'
import { Failure, Interrupted, ServerFailure, VideoFailure } from './failure.ts'
import { firstModel, usingModel } from './film.ts'
import { type Finished, finish, laterCommand } from './finish.ts'
import { aborted, type Interrupts, listenForInterrupts } from './interrupts.ts'
import { openProgress } from './screen/progress.ts'
import type { Progress, Row } from './screen/row.ts'
import { jsonLine, painter, printable } from './screen/text.ts'
import { bytes, clockTime } from './screen/wording.ts'
import { submitOnce } from './submit.ts'
import { findTarget, type Target } from './target.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

interface Wanted {
  client: Client
  film: Film
  /** What is left to decide about the film, once somebody watches. */
  complete?(film: Film, watch: Watching): Promise<void>
}

type MakeValues = { output?: string; json?: boolean; 'base-url'?: string }

export const outputOption = { output: { type: 'string', short: 'o' } } as const

export const outputHelp = `Output:
  -o, --output FILE   the file, or a folder; if left out, a name made of the
                      prompt and the id. A file of that name is replaced.
  --json              one JSON object on stdout: the task, and \`file\`
`

export const exitsHelp = `Ctrl-C asks whether to cancel the film or to leave it running; other signals
leave it.
Exit codes: 0 done, 1 error, 2 a mistake in the command, 3 the video failed,
130 interrupted.
`

/** Submits a film, waits for it, fetches it, and says where it is. */
export async function make(
  { client, film, complete }: Wanted,
  values: MakeValues,
  terminal: Terminal,
): Promise<number> {
  const target = { ...(await findTarget(values.output)), prompt: film.prompt }
  const since = terminal.now()
  using interrupts = listenForInterrupts(terminal)
  const { task, saved } = await (async (): Promise<Finished> => {
    using progress = openProgress(terminal)
    using row = progress.row(null)
    const watch = { terminal, progress, row, interrupts }
    const submitted = await submit(client, film, watch, complete)
    row.onTask(submitted)
    const later = laterCommand(submitted.id, { output: values.output, baseUrl: values['base-url'] })
    return await finishOrAsk({ client, task: submitted, target, later, ...watch })
  })()
  if (terminal.live) {
    const paint = painter(terminal.colour.stderr)
    const tick = paint('green', terminal.unicode ? '✓' : 'done:')
    terminal.err(`${tick} ${describe(task, saved.bytes)} in ${clockTime(terminal.now() - since)}\n`)
  }
  for (const warning of task.warnings) terminal.err(`filmgate: ${printable(warning)}\n`)
  terminal.out(values.json ? jsonLine({ ...task.raw, file: saved.path }) : `${saved.path}\n`)
  return 0
}

/** An empty model stands for the first that the server lists. */
export function chooseModel(client: Client): NonNullable<Wanted['complete']> {
  return async (film, { progress, interrupts }) => {
    if (film.model !== '') return
    film.model = await firstModel(client, interrupts.first)
    progress.note(usingModel(film.model))
  }
}

async function submit(client: Client, film: Film, watch: Watching, complete: Wanted['complete']): Promise<Task> {
  const { terminal, progress, row, interrupts } = watch
  try {
    await complete?.(film, watch)
    const told = { terminal, interrupts, onTrouble: row.onTrouble, note: progress.note }
    return await submitOnce(client, film, { ...told, key: randomUUID(), patient: false })
  } catch (error) {
    if (interrupts.first.aborted && !(error instanceof Failure)) throw new Interrupted('interrupted; nothing was made')
    throw error
  }
}

function describe({ seconds, size }: Task, length: number): string {
  return printable([seconds && `${seconds} s`, size, bytes(length)].filter(Boolean).join(', '))
}

interface Watching {
  terminal: Terminal
  progress: Progress
  row: Row
  interrupts: Interrupts
}

interface Making extends Watching {
  client: Client
  task: Task
  target: Target & { prompt: string }
  /** The command that fetches the film another time. */
  later: string
}

/** From here on there is a task, so no way out may lose it. */
async function finishOrAsk(making: Making): Promise<Finished> {
  const { client, task, target, later, terminal, row, interrupts } = making
  const stop = new AbortController()
  const work = finish(client, task.id, target, { ...row, terminal, signal: stop.signal })
  const ended = work.then(
    () => 'ended' as const,
    () => 'ended' as const,
  )
  const first = await Promise.race([ended, aborted(interrupts.first)])
  const choice = first ?? (await choose(making, ended))
  if (choice !== 'ended') {
    stop.abort()
    await ended
  }
  try {
    return await work
  } catch (error) {
    if (choice === 'cancel') throw await cancel(client, task, later)
    if (stop.signal.aborted) throw left(task, later)
    if (error instanceof VideoFailure || !(error instanceof Failure)) throw error
    throw new Failure(error.message, { cause: error, hint: `The film is on the server. Fetch it later:\n  ${later}` })
  }
}

/** Asks, while the work goes on: a film that is finished meanwhile needs no answer. */
async function choose({ terminal, progress, row, interrupts }: Making, ended: Promise<'ended'>) {
  // What is being downloaded is made already: there is nothing to cancel.
  if (!terminal.canAsk || !interrupts.byPerson() || row.facts.phase === 'downloading') return 'leave'
  const where = terminal.size().columns > 52 ? ' on the server' : ''
  using _question = progress.question(`[c]ancel it${where}, or [l]eave it running?`)
  const answered = new AbortController()
  const key = (async () => {
    for (;;) {
      const pressed = await terminal.readKey(answered.signal)
      if (pressed === null) return 'leave'
      if (/^c/i.test(pressed)) return 'cancel'
      // Ctrl-C, Ctrl-D and Escape come as characters while a key is read.
      if (['l', 'L', '\x03', '\x04', '\x1b'].includes(pressed)) return 'leave'
    }
  })()
  const choice = await Promise.race([key, ended, aborted(interrupts.second)])
  answered.abort()
  await key
  return choice ?? 'leave'
}

function left(task: Task, later: string): Interrupted {
  return new Interrupted('left running on the server', { task, hint: `Fetch it later:\n  ${later}` })
}

async function cancel(client: Client, task: Task, later: string): Promise<Interrupted> {
  try {
    await client.remove(task.id, AbortSignal.timeout(15_000))
    return new Interrupted(`cancelled ${task.id}`, { task })
  } catch (error) {
    const refused = error instanceof ServerFailure && (error.status === 404 || error.status === 405)
    const reason = refused ? `this server has no way to cancel it (${error.status})` : (error as Error).message
    return new Interrupted(`not cancelled: ${reason}`, { task, hint: `It goes on there. Fetch it later:\n  ${later}` })
  }
}
