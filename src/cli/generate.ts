import { readArguments } from './arguments.ts'
import { openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { filmHelp, filmOptions, prepare, promptOf, readOrder } from './film.ts'
import { chooseModel, exitsHelp, make, outputHelp, outputOption } from './make.ts'

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

${outputHelp}
${filmHelp}
${connectionHelp}
${exitsHelp}`

const options = { ...connectionOptions, ...filmOptions, ...outputOption } as const

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
    return make({ client, film, complete: chooseModel(client) }, values, terminal)
  },
}
