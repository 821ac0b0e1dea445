import { randomUUID } from 'node:crypto'
import { readArguments } from './arguments.ts'
import { type Client, type Film, openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Failure, Interrupted, ServerFailure, UsageFailure, VideoFailure } from './failure.ts'
import { filmHelp, filmOptions, firstModel, prepare, readOrder, usingModel } from './film.ts'
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

const help = `Usage: filmgate generate PROMPT [options]

Makes one film: submits it, waits, and fetches it. Prints the path of the file.

Examples:
  filmgate generate "a red fox in snow at dusk"
  filmgate generate "a red fox" -o fox.mp4 --seconds 8 --size 1280x720
  filmgate generate "the fox looks up" --image fox.png --seed 7
  filmgate generate "a red fox" --json | jq -r .file
  filmgate generate "a red fox" --base-url https://films.example/v1
  filmgate generate - < prompt.txt

A prompt that starts with a dash goes last, behind two dashes: -- "-a fox".
With - as the prompt, it is read from stdin.

Output:
  -o, --output FILE   the file, or a folder; if left out, a name made of the
                      prompt and the id. A file of that name is replaced.
  --json              one JSON object on stdout: the task, and \`file\`

${filmHelp}
${connectionHelp}
Ctrl-C asks whether to cancel the film or to leave it running; other signals
leave it.
Exit codes: 0 done, 1 error, 2 a mistake in the command, 3 the video failed,
130 interrupted.
`

const options = { ...connectionOptions, ...filmOptions, output: { type: 'string', short: 'o' } } as const

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, {
      options,
      operands: ['the prompt'],
      tooMany: 'the prompt must be one argument; put it in quotes: generate "a red fox"',
    })
    const order = readOrder(await promptOf(operands[0] ?? '', terminal), values)
    // Before any server is asked: a picture that is not there should cost nobody anything.
    const film = await prepare(order, order.model ?? '', '.')
    const client = openClient(findConnection(values, terminal.env), terminal)
    const target = { ...(await findTarget(values.output)), prompt: order.prompt }
    const since = terminal.now()

    using interrupts = listenForInterrupts(terminal)
    const { task, saved } = await (async (): Promise<Finished> => {
      using progress = openProgress(terminal)
      using row = progress.row(null)
      const submitted = await submit(client, film, { terminal, progress, row, interrupts })
      row.onTask(submitted)
      const later = laterCommand(submitted.id, { output: values.output, baseUrl: values['base-url'] })
      return await finishOrAsk({ client, task: submitted, target, later, terminal, progress, row, interrupts })
    })()
    if (terminal.live) {
      const paint = painter(terminal.colour.stderr)
      const tick = paint('green', terminal.unicode ? '✓' : 'done:')
      terminal.err(`${tick} ${describe(task, saved.bytes)} in ${clockTime(terminal.now() - since)}\n`)
    }
    terminal.out(values.json ? jsonLine({ ...task.raw, file: saved.path }) : `${saved.path}\n`)
    return 0
  },
}

/** An empty model stands for the first that the server lists. */
async function submit(client: Client, film: Film, watch: Watching): Promise<Task> {
  const { terminal, progress, row, interrupts } = watch
  try {
    if (film.model === '') {
      film.model = await firstModel(client, interrupts.first)
      progress.note(usingModel(film.model))
    }
    const told = { terminal, interrupts, onTrouble: row.onTrouble, note: progress.note }
    return await submitOnce(client, film, { ...told, key: randomUUID(), patient: false })
  } catch (error) {
    if (interrupts.first.aborted && !(error instanceof Failure)) throw new Interrupted('interrupted; nothing was made')
    throw error
  }
}

async function promptOf(given: string, terminal: Terminal): Promise<string> {
  if (given !== '-') return given
  const piped = await terminal.readInput()
  if (piped === null) throw new UsageFailure('- reads the prompt from a pipe or a file, and stdin is a terminal')
  return piped.trim()
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
