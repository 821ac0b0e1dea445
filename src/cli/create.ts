import { randomUUID } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { codeOf, messageOf } from '../core/problem.ts'
import { type Command, readArguments } from './arguments.ts'
import { type Client, openClient, type Source, type VideoRequest } from './client.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Failure, Interrupted, ServerFailure, UsageFailure, VideoFailure } from './failure.ts'
import { findId } from './find-task.ts'
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
import { firstModel, prepare, promptOf, readOrder, usingModel, videoHelp, videoOptions } from './video-request.ts'

/* The commands that create one video: generate, remix, edit and extend. Each submits, waits and downloads. */

const outputOption = { output: { type: 'string', short: 'o' } } as const

const outputHelp = `Output:
  -o, --output FILE   a file or a folder; without it, the name is made of the
                      prompt and the id. An existing file is replaced.
  --json              one JSON object on stdout: the task, and \`file\`
`

const shortIdHelp = 'The end of an id is enough, as `filmgate list` shows it: 4 characters.'

const exitsHelp = `Ctrl-C asks whether to cancel the video or leave it running. Other signals leave
it running.
Exit codes: 0 done, 1 error, 2 a mistake in the command, 3 the video failed,
130 interrupted.
`

export const generate: Command = {
  help: `Usage: filmgate generate PROMPT [options]

Creates a video, waits for it and downloads it. Prints the path of the file.

Examples:
  filmgate generate "a red fox in snow at dusk"
  filmgate generate "a red fox" -o fox.mp4 --seconds 8 --size 1280x720
  filmgate generate "the fox looks up" --image fox.png --seed 7
  filmgate generate "a red fox" --json | jq -r .file
  filmgate generate "a red fox" --base-url https://films.example/v1
  filmgate generate - < prompt.txt

Write a prompt that starts with a dash last, after two dashes: -- "-a fox".
With - as the prompt, it is read from stdin.

${outputHelp}
${videoHelp}
${connectionHelp}
${exitsHelp}`,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, {
      options: { ...connectionOptions, ...videoOptions, ...outputOption },
      operands: ['the prompt'],
      tooMany: 'the prompt must be one argument; put it in quotes: generate "a red fox"',
    })
    const order = readOrder(await promptOf(operands[0] ?? '', terminal), values)
    // Before any request: a missing image should not cost anything.
    const request = await prepare(order, order.model ?? '', '.')
    const client = openClient(findConnection(values, terminal.env), terminal)
    return create({ client, request, complete: chooseModel(client) }, values, terminal)
  },
}

export const remix = deriving(
  'remix',
  `Usage: filmgate remix ID PROMPT [options]

Creates another version of a video with a new prompt, waits for it and downloads
it. Prints the path of the file.
${shortIdHelp}

Examples:
  filmgate remix 3f9a1c "the same at night"
  filmgate remix video_0199… "in the rain" -o rain.mp4
`,
)

export const edit = deriving(
  'edit',
  `Usage: filmgate edit ID|FILE PROMPT [options]

Changes a video of the server, or an MP4 file, by a prompt. Waits for the new
video and downloads it. Prints the path of the file.
${shortIdHelp}

Examples:
  filmgate edit 3f9a1c "the same at night"
  filmgate edit fox.mp4 "in the rain" -o rain.mp4
`,
)

export const extend = deriving(
  'extension',
  `Usage: filmgate extend ID|FILE PROMPT --seconds N [options]

Creates a longer video: it starts with the given one and continues from its last
frame for N more seconds. Prints the path of the file.
${shortIdHelp}

Examples:
  filmgate extend 3f9a1c "night falls" --seconds 4
  filmgate extend fox.mp4 "the fox looks up" --seconds 8 -o longer.mp4
`,
)

/** The command that creates a video from another one. `usage`: the start of its help. */
function deriving(kind: Source['kind'], usage: string): Command {
  const shared = {
    ...connectionOptions,
    ...outputOption,
    seed: { type: 'string' },
    'no-caption': { type: 'boolean' },
  } as const
  const own = {
    remix: {},
    edit: { model: { type: 'string' } },
    extension: { model: { type: 'string' }, seconds: { type: 'string' } },
  } as const
  const sourceName = kind === 'remix' ? 'the id of a video' : 'the id of a video, or a file,'
  const modelHelp = '  --model NAME        for a file: one of `filmgate models` (the first)\n'
  const derivedHelp = `Video:
  --seed N            the seed (that of the source); another seed gives another
                      video, if the model supports it
  --no-caption        do not write the prompt into the picture
${kind === 'remix' ? '' : modelHelp}`
  return {
    help: `${usage}\n${outputHelp}\n${derivedHelp}\n${connectionHelp}\n${exitsHelp}`,
    async run(args, terminal) {
      const options = { ...shared, ...own[kind] }
      const { values, operands } = readArguments(args, { options, operands: [sourceName, 'the prompt'] })
      const flags: { model?: string; seconds?: string; seed?: string; 'no-caption'?: boolean } = values
      if (kind === 'extension' && flags.seconds === undefined)
        throw new UsageFailure('--seconds is missing; set how many seconds to add')
      const [given = '', prompt = ''] = operands
      const order = readOrder(await promptOf(prompt, terminal), flags)
      const source = await readSource(kind, given)
      const request: VideoRequest = { ...(await prepare(order, '', '.')), source }
      const client = openClient(findConnection(values, terminal.env), terminal)
      // The server knows the model of a video of its own.
      const complete = 'bytes' in source.video ? chooseModel(client) : findSource(client, source.kind, source.video.id)
      return create({ client, request, complete }, values, terminal)
    },
  }
}

const mostSourceBytes = 64 * 2 ** 20

/** The name of an existing file, else the id of a video on the server. */
async function readSource(kind: Source['kind'], given: string): Promise<Source> {
  if (kind === 'remix') return { kind, video: { id: given } }
  try {
    const { size } = await stat(given)
    if (size > mostSourceBytes) throw new UsageFailure(`the video ${given} is larger than 64 MiB; use a smaller one`)
    return { kind, video: { name: basename(given), bytes: await readFile(given) } }
  } catch (error) {
    if (error instanceof Failure) throw error
    const code = codeOf(error)
    if (code === 'ENOENT' && !/[./\\]/.test(given)) return { kind, video: { id: given } }
    throw new UsageFailure(`the video ${given} can't be read: ${code === 'ENOENT' ? 'there is no such file' : code}`)
  }
}

interface Creation {
  client: Client
  request: VideoRequest
  /** Fills in the rest of the request, after progress is shown. */
  complete(request: VideoRequest, watch: Watching): Promise<void>
}

interface Watching {
  terminal: Terminal
  progress: Progress
  row: Row
  interrupts: Interrupts
}

/** Submits a video, waits for it, downloads it, and prints the path. */
async function create(
  creation: Creation,
  values: { output?: string; json?: boolean; 'base-url'?: string },
  terminal: Terminal,
): Promise<number> {
  const { client, request } = creation
  const target = { ...(await findTarget(values.output)), prompt: request.prompt }
  const since = terminal.now()
  using interrupts = listenForInterrupts(terminal)
  const { task, saved } = await (async (): Promise<Finished> => {
    using progress = openProgress(terminal)
    using row = progress.row(null)
    const watch = { terminal, progress, row, interrupts }
    const submitted = await submit(creation, watch)
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

/** Replaces an empty model with the first that the server lists. */
function chooseModel(client: Client): Creation['complete'] {
  return async (request, { progress, interrupts }) => {
    if (request.model !== '') return
    request.model = await firstModel(client, interrupts.first)
    progress.note(usingModel(request.model))
  }
}

/** Replaces the end of an id with the whole id. */
function findSource(client: Client, kind: Source['kind'], given: string): Creation['complete'] {
  return async (request, { interrupts }) => {
    request.source = { kind, video: { id: await findId(client, given, interrupts.first) } }
  }
}

async function submit({ client, request, complete }: Creation, watch: Watching): Promise<Task> {
  const { terminal, progress, row, interrupts } = watch
  try {
    await complete(request, watch)
    const callbacks = { terminal, interrupts, onTrouble: row.onTrouble, note: progress.note }
    return await submitOnce(client, request, { ...callbacks, key: randomUUID(), patient: false })
  } catch (error) {
    if (interrupts.first.aborted && !(error instanceof Failure))
      throw new Interrupted('interrupted; no video was created')
    throw error
  }
}

function describe({ seconds, size }: Task, length: number): string {
  return printable([seconds && `${seconds} s`, size, bytes(length)].filter(Boolean).join(', '))
}

interface Submitted extends Watching {
  client: Client
  task: Task
  target: Target & { prompt: string }
  /** The command that downloads the video later. */
  later: string
}

/** The task exists now, so every way out names it. */
async function finishOrAsk(submitted: Submitted): Promise<Finished> {
  const { client, task, target, later, terminal, row, interrupts } = submitted
  const stop = new AbortController()
  const work = finish(client, task.id, target, { ...row, terminal, signal: stop.signal })
  const ended = work.then(
    () => 'ended' as const,
    () => 'ended' as const,
  )
  const first = await Promise.race([ended, aborted(interrupts.first)])
  const choice = first ?? (await choose(submitted, ended))
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
    throw new Failure(error.message, { cause: error, hint: `The video is on the server. Fetch it later:\n  ${later}` })
  }
}

/** Asks while the work goes on. A video that finishes meanwhile needs no answer. */
async function choose({ terminal, progress, row, interrupts }: Submitted, ended: Promise<'ended'>) {
  // A video that is being downloaded can't be cancelled any more.
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
    const reason = refused ? `this server can't cancel videos (${error.status})` : messageOf(error)
    return new Interrupted(`not cancelled: ${reason}`, {
      task,
      hint: `It is still running. Fetch it later:\n  ${later}`,
    })
  }
}
