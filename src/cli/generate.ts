import { readArguments } from './arguments.ts'
import { type Film, openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { filmHelp, filmOptions, firstModel, prepare, promptOf, readOrder, usingModel } from './film.ts'
import { exitsHelp, make, outputHelp, outputOption, type Watching } from './make.ts'

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
    /** An empty model stands for the first that the server lists. */
    const complete = async (film: Film, { progress, interrupts }: Watching) => {
      if (film.model !== '') return
      film.model = await firstModel(client, interrupts.first)
      progress.note(usingModel(film.model))
    }
    return make({ client, film, complete }, values, terminal)
  },
}
