import { type Variant, variants } from '../wire/videos.ts'
import { type Command, readArguments, suggestion } from './arguments.ts'
import { openClient } from './client.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Interrupted, UsageFailure } from './failure.ts'
import { findId } from './find-task.ts'
import { type Finished, finish, laterCommand } from './finish.ts'
import { listenForInterrupts } from './interrupts.ts'
import { openProgress } from './screen/progress.ts'
import { jsonLine } from './screen/text.ts'
import { findTarget } from './target.ts'

const help = `Usage: filmgate download ID [-o FILE] [options]

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

${connectionHelp}`

const own = { output: { type: 'string', short: 'o' }, variant: { type: 'string' } } as const
const options = { ...connectionOptions, ...own }

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, { options, operands: ['the id'] })
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
