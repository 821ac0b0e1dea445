import { type Variant, Video, variants } from '../wire/videos.ts'
import { type Command, limitOf, readArguments, suggestion } from './arguments.ts'
import { openClient } from './client.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Failure, Interrupted, ServerFailure, UsageFailure } from './failure.ts'
import { findId, newestFirst } from './find-task.ts'
import { type Finished, finish, laterCommand } from './finish.ts'
import { listenForInterrupts } from './interrupts.ts'
import { openProgress } from './screen/progress.ts'
import { type Column, facts, lookOf, table } from './screen/table.ts'
import { jsonLine, painter } from './screen/text.ts'
import { describeOutput, expiryName, relative, roughly } from './screen/wording.ts'
import { shortId } from './slug.ts'
import { findTarget } from './target.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

const statuses: readonly string[] = Video.properties.status.enum

export const list: Command = {
  help: `Usage: filmgate list [options]

Lists your videos, newest first. A terminal shows the end of each id, which
every command accepts. Other output has whole ids.

Examples:
  filmgate list
  filmgate list --status failed --limit 100
  filmgate list --model studio
  filmgate list --json | jq -r '.data[].id'

Options:
  --limit N           how many, up to 1000 (20)
  --status STATUS     queued, in_progress, completed or failed; drawing, as the
                      table says, is in_progress
  --model MODEL       only videos that were requested with this model name
  --json              one JSON object: {"object": "list", "data": [tasks]}

${connectionHelp}`,
  async run(args, terminal) {
    const { values } = readArguments(args, {
      options: {
        ...connectionOptions,
        limit: { type: 'string' },
        status: { type: 'string' },
        model: { type: 'string' },
      },
    })
    const { model } = values
    const limit = limitOf(values.limit ?? '20', 1_000)
    const status = values.status === 'drawing' ? 'in_progress' : values.status
    if (status !== undefined && !statuses.includes(status))
      throw new UsageFailure(`--status ${status}: use one of ${statuses.join(', ')}`)
    const client = openClient(findConnection(values, terminal.env), terminal)

    const tasks: Task[] = []
    try {
      const only = { ...(status && { status }), ...(model && { model }) }
      const pageSize = status || model ? 100 : Math.min(100, limit)
      for await (const task of newestFirst(client, { pageSize, only })) {
        if ((status ?? task.status) === task.status && (model ?? task.model) === task.model) tasks.push(task)
        if (tasks.length === limit) break
      }
    } catch (error) {
      if (error instanceof ServerFailure && (error.status === 404 || error.status === 405))
        throw new Failure(`this server has no list of videos (${error.status})`)
      throw error
    }
    if (values.json) terminal.out(jsonLine({ object: 'list', data: tasks.map(({ raw }) => raw) }))
    else if (tasks.length === 0)
      terminal.err(`No videos${model ? ` of ${model}` : ''}${status ? ` are ${values.status}` : ''}.\n`)
    else terminal.out(showList(tasks, terminal))
    return 0
  },
}

function showList(tasks: Task[], terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const now = terminal.now()
  const forPeople = terminal.stdoutIsTerminal
  const columns: Column<Task>[] = [
    { title: 'ID', text: ({ id }) => (forPeople ? shortId(id) : id), paint: (_, text) => paint('bold', text) },
    { title: 'STATUS', text: statusOf, paint: ({ status }, text) => paint(statusColours[status], text) },
    { title: 'CREATED', text: ({ createdAt }) => (createdAt === null ? '' : relative(createdAt, now)), extra: true },
    { title: 'MODEL', text: ({ model }) => model, least: 6, extra: true },
    { title: 'LENGTH', text: ({ seconds }) => (seconds === null ? '' : `${seconds} s`), align: 'right', extra: true },
    { title: 'SIZE', text: ({ size }) => size ?? '', extra: true },
    { title: 'PROMPT', text: ({ prompt, error }) => [error?.message, prompt].filter(Boolean).join(' · '), least: 10 },
  ]
  return table(tasks, columns, { columns: forPeople ? terminal.size().columns : null, paint })
}

function statusOf({ status, progress }: Task): string {
  if (status !== 'in_progress') return status
  return progress === null ? 'drawing' : `drawing ${Math.floor(progress)}%`
}

const statusColours = { completed: 'green', failed: 'red', in_progress: 'cyan', queued: 'dim' } as const

export const get: Command = {
  help: `Usage: filmgate get ID [options]

Shows one video. The end of its id is enough: 4 characters or more, as
\`filmgate list\` shows it.

Examples:
  filmgate get 3f9a1c
  filmgate get video_0193… --json | jq -r .status

Options:
  --json              the response of the server

${connectionHelp}`,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, { options: connectionOptions, operands: ['the id'] })
    const client = openClient(findConnection(values, terminal.env), terminal)
    const { task } = await client.retrieve(await findId(client, operands[0] ?? ''))
    terminal.out(values.json ? jsonLine(task.raw) : show(task, terminal))
    return 0
  },
}

function show(task: Task, terminal: Terminal): string {
  const time = (at: number | null) =>
    at === null ? '' : `${relative(at, terminal.now())} (${new Date(at).toISOString().replace('.000Z', 'Z')})`
  const { createdAt, completedAt } = task
  const took = createdAt === null || completedAt === null ? '' : `, after ${roughly(completedAt - createdAt)}`
  const error = task.error && `${task.error.message}${task.error.code === null ? '' : ` (${task.error.code})`}`
  const pairs = [
    ['id', task.id],
    ['status', statusOf(task), statusColours[task.status]],
    ['reason', task.reason ?? ''],
    ['error', error ?? '', 'red'],
    ['prompt', task.prompt ?? ''],
    ['model', task.model],
    ['length', task.seconds === null ? '' : `${task.seconds} s`],
    ['size', task.size ?? ''],
    ['output', task.output ? describeOutput(task.output) : ''],
    ...task.warnings.map((warning) => ['warning', warning, 'yellow'] as const),
    ['seed', task.seed === null ? '' : String(task.seed)],
    ['created', time(createdAt)],
    ['completed', completedAt === null ? '' : `${time(completedAt)}${took}`],
    [expiryName(task.expiresAt ?? 0, terminal.now()), time(task.expiresAt)],
  ] as const
  return facts(pairs, lookOf(terminal))
}

export const download: Command = {
  help: `Usage: filmgate download ID [-o FILE] [options]

Downloads a video, and waits for it first if it is not finished. The end of its
id is enough: 4 characters or more, as \`filmgate list\` shows it.
The file appears when it is complete. An existing file is replaced.

Examples:
  filmgate download 3f9a1c
  filmgate download 3f9a1c -o fox.mp4
  filmgate download 3f9a1c --variant thumbnail

Options:
  -o, --output FILE   a file or a folder; without it, the name is made of the
                      prompt and the id
  --variant VARIANT   video; thumbnail: one picture of it (WebP); spritesheet:
                      25 pictures, 5 by 5 (JPEG)
  --json              one JSON object on stdout: the task, and \`file\`

${connectionHelp}`,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, {
      options: { ...connectionOptions, output: { type: 'string', short: 'o' }, variant: { type: 'string' } },
      operands: ['the id'],
    })
    const client = openClient(findConnection(values, terminal.env), terminal)
    const variant = readVariant(values.variant)
    const target = await findTarget(values.output)
    using interrupts = listenForInterrupts(terminal)
    const signal = interrupts.first
    let id = operands[0] ?? ''
    const { task, saved } = await (async (): Promise<Finished> => {
      using progress = openProgress(terminal)
      using row = progress.row(null)
      try {
        id = await findId(client, id, signal)
        return await finish(client, id, target, { ...row, terminal, signal, variant })
      } catch (error) {
        if (!signal.aborted) throw error
        const later = laterCommand(id, { output: values.output, baseUrl: values['base-url'], variant })
        throw new Interrupted('interrupted; nothing was written', { hint: `Fetch it later:\n  ${later}` })
      }
    })()
    terminal.out(values.json ? jsonLine({ ...task.raw, file: saved.path }) : `${saved.path}\n`)
    return 0
  },
}

function readVariant(given = 'video'): Variant {
  const known = Object.keys(variants) as Variant[]
  const variant = known.find((name) => name === given)
  if (variant) return variant
  throw new UsageFailure(`--variant ${given}: use one of ${known.join(', ')}${suggestion(given, known)}`)
}

export const remove: Command = {
  help: `Usage: filmgate delete ID [options]

Deletes a video from the server. A video that is queued or running is cancelled.
The end of its id is enough, if only one video has it: 4 characters or more, as
\`filmgate list\` shows it.

Examples:
  filmgate delete 3f9a1c
  filmgate list --status failed --json | jq -r '.data[].id' |
    xargs -n 1 filmgate delete

Options:
  --json              the response of the server

${connectionHelp}`,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, {
      options: connectionOptions,
      operands: ['the id'],
      tooMany: 'only one video can be deleted at a time',
    })
    const client = openClient(findConnection(values, terminal.env), terminal)
    const id = await findId(client, operands[0] ?? '')
    try {
      const deleted = await client.remove(id)
      terminal.out(values.json ? jsonLine(deleted) : `deleted ${id}\n`)
      return 0
    } catch (error) {
      if (error instanceof ServerFailure && error.status === 405)
        throw new Failure('this server does not delete videos (405)')
      throw error
    }
  },
}
