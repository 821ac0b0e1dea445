import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { readArguments } from './arguments.ts'
import { type Film, type Origin, openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { Failure, UsageFailure } from './failure.ts'
import { prepare, promptOf, readOrder } from './film.ts'
import { chooseModel, exitsHelp, make, outputHelp, outputOption } from './make.ts'

/* What `remix`, `edit` and `extend` have in common: a film that is made of another. */

const shared = {
  ...connectionOptions,
  ...outputOption,
  seed: { type: 'string' },
  'no-caption': { type: 'boolean' },
} as const
const more = {
  remix: {},
  edit: { model: { type: 'string' } },
  extension: { model: { type: 'string' }, seconds: { type: 'string' } },
} as const

const ofHelp = `Film:
  --seed N            another film of the same words, where the model can; that
                      of the source if left out
  --no-caption        do not write the prompt into the picture
`
const modelHelp = `  --model NAME        with a file: who makes it; the first model if left out
`

type Values = { model?: string; seconds?: string; seed?: string; 'no-caption'?: boolean }

/** The command that makes a film of that kind. `intro`: how it is used, and what it does. */
export function deriving(kind: Origin['kind'], intro: string): Command {
  const what = kind === 'remix' ? 'the id of a video' : 'the id of a video, or a file'
  const filmHelp = kind === 'remix' ? ofHelp : `${ofHelp}${modelHelp}`
  return {
    help: `${intro}\n${outputHelp}\n${filmHelp}\n${connectionHelp}\n${exitsHelp}`,
    async run(args, terminal) {
      const options = { ...shared, ...more[kind] }
      const { values, operands } = readArguments(args, { options, operands: [what, 'the prompt'] })
      const flags: Values = values
      if (kind === 'extension' && flags.seconds === undefined)
        throw new UsageFailure('--seconds is missing: by how many?')
      const [source = '', given = ''] = operands
      const order = readOrder(await promptOf(given, terminal), flags)
      const of = await originOf(kind, source)
      const film: Film = { ...(await prepare(order, '', '.')), of }
      const client = openClient(findConnection(values, terminal.env), terminal)
      // A video of the server knows who made it.
      const isFile = 'bytes' in of.video
      return make({ client, film, ...(isFile && { complete: chooseModel(client) }) }, values, terminal)
    },
  }
}

const mostBytes = 64 * 2 ** 20

/** What is a file here is meant as one; anything else is the id of a video there. */
async function originOf(kind: Origin['kind'], source: string): Promise<Origin> {
  if (kind === 'remix') return { kind, video: { id: source } }
  try {
    const { size } = await stat(source)
    if (size > mostBytes) throw new UsageFailure(`the video ${source} has more than 64 MiB; no server takes so much`)
    return { kind, video: { name: basename(source), bytes: await readFile(source) } }
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !/[./\\]/.test(source)) return { kind, video: { id: source } }
    throw new UsageFailure(`the video ${source} can't be read: ${code === 'ENOENT' ? 'there is no such file' : code}`)
  }
}
