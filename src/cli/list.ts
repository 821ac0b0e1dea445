import { Video } from '../wire/videos.ts'
import { readArguments } from './arguments.ts'
import { openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Failure, ServerFailure, UsageFailure } from './failure.ts'
import { newestFirst } from './find-task.ts'
import { type Column, table } from './screen/table.ts'
import { jsonLine, painter } from './screen/text.ts'
import { relative } from './screen/wording.ts'
import { shortId } from './slug.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

const statuses: readonly string[] = Video.properties.status.enum

const help = `Usage: filmgate list [options]

Lists your videos, the newest first. In a terminal an id is shown by its end,
which every command takes; elsewhere it is whole.

Examples:
  filmgate list
  filmgate list --status failed --limit 100
  filmgate list --model studio
  filmgate list --json | jq -r '.data[].id'

Options:
  --limit N           how many (20)
  --status STATUS     only these: queued, in_progress (the table says drawing,
                      which is taken too), completed, failed
  --model MODEL       only these, by the name that was asked for
  --json              one JSON object: {"object": "list", "data": [tasks]}

${connectionHelp}`

const options = {
  ...connectionOptions,
  limit: { type: 'string' },
  status: { type: 'string' },
  model: { type: 'string' },
} as const

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options })
    const { limit = '20', model } = values
    const status = values.status === 'drawing' ? 'in_progress' : values.status
    if (!/^[1-9]\d{0,3}$/.test(limit)) throw new UsageFailure(`--limit ${limit}: use a number from 1 to 1000`)
    if (status !== undefined && !statuses.includes(status))
      throw new UsageFailure(`--status ${status}: use one of ${statuses.join(', ')}`)
    const client = openClient(findConnection(values, terminal.env), terminal)

    const tasks: Task[] = []
    try {
      const only = { ...(status && { status }), ...(model && { model }) }
      const pageSize = status || model ? 100 : Math.min(100, Number(limit))
      for await (const task of newestFirst(client, { pageSize, only })) {
        if ((status ?? task.status) === task.status && (model ?? task.model) === task.model) tasks.push(task)
        if (tasks.length === Number(limit)) break
      }
    } catch (error) {
      if (error instanceof ServerFailure && (error.status === 404 || error.status === 405))
        throw new Failure(`this server has no list of videos (${error.status})`)
      throw error
    }
    if (values.json) terminal.out(jsonLine({ object: 'list', data: tasks.map(({ raw }) => raw) }))
    else if (tasks.length === 0)
      terminal.err(`No videos${model ? ` of ${model}` : ''}${status ? ` are ${values.status}` : ''}.\n`)
    else terminal.out(show(tasks, terminal))
    return 0
  },
}

function show(tasks: Task[], terminal: Terminal): string {
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

export function statusOf({ status, progress }: Task): string {
  if (status !== 'in_progress') return status
  return progress === null ? 'drawing' : `drawing ${Math.floor(progress)}%`
}

export const statusColours = { completed: 'green', failed: 'red', in_progress: 'cyan', queued: 'dim' } as const
