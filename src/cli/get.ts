import { readArguments } from './arguments.ts'
import { openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { findId } from './find-task.ts'
import { statusColours, statusOf } from './list.ts'
import { facts } from './screen/table.ts'
import { jsonLine, painter } from './screen/text.ts'
import { describeOutput, relative, roughly } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

const help = `Usage: filmgate get ID [options]

Shows one video. The end of its id is enough: 4 characters or more, as
\`filmgate list\` shows it.

Examples:
  filmgate get 3f9a1c
  filmgate get video_0193… --json | jq -r .status

Options:
  --json              the server's own answer

${connectionHelp}`

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, { options: connectionOptions, operands: ['the id'] })
    const client = openClient(findConnection(values, terminal.env), terminal)
    const { task } = await client.retrieve(await findId(client, operands[0] ?? ''))
    terminal.out(values.json ? jsonLine(task.raw) : show(task, terminal))
    return 0
  },
}

function show(task: Task, terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const time = (at: number | null) =>
    at === null ? '' : `${relative(at, terminal.now())} (${new Date(at).toISOString().replace('.000Z', 'Z')})`
  const { createdAt, completedAt } = task
  const took = createdAt === null || completedAt === null ? '' : `, after ${roughly(completedAt - createdAt)}`
  const error = task.error && `${task.error.message}${task.error.code === null ? '' : ` (${task.error.code})`}`
  const pairs = [
    ['id', task.id],
    ['status', statusOf(task), statusColours[task.status]],
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
    ['expires', time(task.expiresAt)],
  ] as const
  return facts(
    pairs.filter(([, value]) => value !== ''),
    paint,
  )
}
