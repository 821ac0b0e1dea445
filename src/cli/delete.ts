import { readArguments } from './arguments.ts'
import { openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Failure, ServerFailure } from './failure.ts'
import { findId } from './find-task.ts'
import { jsonLine } from './screen/text.ts'

const help = `Usage: filmgate delete ID [options]

Deletes a video and its film from the server; one that is still being made is
cancelled. The end of its id is enough, if only one video has it: 4 characters
or more, as \`filmgate list\` shows it.

Examples:
  filmgate delete 3f9a1c
  filmgate list --status failed --json | jq -r '.data[].id' |
    xargs -n 1 filmgate delete

Options:
  --json              the server's own answer

${connectionHelp}`

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, {
      options: connectionOptions,
      operands: ['the id'],
      tooMany: 'one video is deleted at a time',
    })
    const client = openClient(findConnection(values, terminal.env), terminal)
    const id = await findId(client, operands[0] ?? '')
    try {
      const answer = await client.remove(id)
      terminal.out(values.json ? jsonLine(answer) : `deleted ${id}\n`)
      return 0
    } catch (error) {
      if (error instanceof ServerFailure && error.status === 405)
        throw new Failure('this server does not delete videos (405)')
      throw error
    }
  },
}
