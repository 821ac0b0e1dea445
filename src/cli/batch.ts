import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { readArguments, type Values } from './arguments.ts'
import { type Journal, openJournal, ownerOf } from './batch/journal.ts'
import { decode, type Fault, type Line, readLines } from './batch/lines.ts'
import { recover, type Verdict } from './batch/recover.ts'
import { type Batch, exists, makeLine, type Outcome } from './batch/run.ts'
import { exitCodeOf, shownStatus, summary, tally, toJson, totalLine } from './batch/summary.ts'
import { type Client, openClient } from './client.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { diskFault } from './disk.ts'
import { Failure, UsageFailure } from './failure.ts'
import { filmHelp, filmOptions, isImageUrl, loadImage, type Order, readOrder, usingModel } from './film.ts'
import { type Interrupts, listenForInterrupts } from './interrupts.ts'
import { sweepParts } from './save.ts'
import { openProgress } from './screen/progress.ts'
import type { Progress } from './screen/row.ts'
import { jsonLine, printable } from './screen/text.ts'
import { count } from './screen/wording.ts'
import { faultOfFile } from './target.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate batch FILE -o FOLDER [options]

Makes a film of each line of a file, some at a time. Run the same command again
to go on where it ended, however it ended: nothing is made twice.

A line is a prompt, or a JSON object:
  # lines like this one and blank ones are skipped
  a red fox in snow at dusk
  {"prompt": "it looks up", "seconds": 8, "image": "fox.png", "name": "fox-2"}
Fields: prompt, model, seconds, size, image, seed, caption, name (of the file).
Images lie relative to FILE. What a line leaves out, the options below fill in.

Examples:
  filmgate batch prompts.jsonl -o out/
  filmgate batch prompts.txt -o out/ -n 2 --size 1280x720 --seconds 4

Options:
  -o, --output DIR    where the films go, and the journal that remembers them;
                      a file of the same name is replaced
  -n, --parallel N    how many at a time (4)
  --resubmit-unknown  submit again where nobody can tell whether the server
                      took a film
  --retry-failed      make those anew that failed
  --json              one JSON object on stdout instead of the table

${filmHelp}
${connectionHelp}
Exit codes: 0 all done, 3 some videos failed, 1 anything else, 2 a mistake in
the command or the file, 130 interrupted.
`

const options = {
  ...connectionOptions,
  ...filmOptions,
  output: { type: 'string', short: 'o' },
  parallel: { type: 'string', short: 'n' },
  'resubmit-unknown': { type: 'boolean' },
  'retry-failed': { type: 'boolean' },
} as const

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, { options, operands: ['the file with the prompts'] })
    const { output: folder, parallel = '4' } = values
    if (!folder) throw new UsageFailure('-o is missing: the folder for the films')
    if (!/^[1-9]\d?$/.test(parallel)) throw new UsageFailure(`-n ${parallel}: use a number from 1 to 99`)
    const [path = ''] = operands
    const lines = await readFilms(path, values)
    const client = openClient(findConnection(values, terminal.env), terminal)
    await makeFolder(folder)
    await using journal = await openJournal(folder, client.baseUrl)
    await checkNames(lines, { folder, path, journal })
    await sweepParts(folder)

    using interrupts = listenForInterrupts(terminal)
    const settings = {
      ...{ folder, imageFolder: dirname(path), client, journal, terminal, interrupts, doubts: 0, halted: null },
      ...{ resubmitUnknown: values['resubmit-unknown'] ?? false, retryFailed: values['retry-failed'] ?? false },
    }
    const outcomes = await (async () => {
      using progress = openProgress(terminal, { quiet: true })
      const model = await modelFor(lines, { ...settings, progress })
      const verdicts = await findOpen(lines, { ...settings, progress })
      return await makeAll(lines, Number(parallel), {
        ...settings,
        ...{ progress, model, verdicts, submitting: Promise.resolve() },
      })
    })()
    report(outcomes, { terminal, folder, json: values.json ?? false, interrupted: interrupts.first.aborted })
    return exitCodeOf(outcomes, interrupts.first.aborted)
  },
}

/** Every line of the file, or every fault in it. */
async function readFilms(path: string, flags: Values<typeof options>): Promise<Line[]> {
  const { prompt: _, ...defaults }: Order = readOrder('of each line', flags)
  if (defaults.image !== undefined && !isImageUrl(defaults.image)) defaults.image = resolve(defaults.image)
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageFailure(`${path} can't be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.code}`)
  })
  const { text, fault } = decode(bytes)
  if (fault !== null) complainOf([fault], path)
  const { lines, faults } = readLines(text, defaults)
  for (const { number, order } of lines) {
    const what = order.image === undefined ? null : await faultOfImage(order.image, dirname(path))
    if (what !== null) faults.push({ number, what })
  }
  complainOf(faults, path)
  if (lines.length === 0) throw new UsageFailure(`${path} has no prompt in it`)
  return lines
}

function complainOf(faults: Fault[], path: string): void {
  if (faults.length === 0) return
  const list = faults
    .toSorted((a, b) => a.number - b.number)
    .map(({ number, what }) => `  line ${number}: ${printable(what)}`)
  throw new UsageFailure(`${count(faults.length, 'mistake')} in ${path}; nothing was submitted`, list.join('\n'))
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'EEXIST' || code === 'ENOTDIR' ? 'it is no folder' : (diskFault(error) ?? code)
    throw new UsageFailure(`-o ${folder}: ${reason}`)
  }
}

/** A name may be given to one film of a folder only, whichever list it is in: the other would be lost, and called done. */
async function checkNames(
  lines: Line[],
  { folder, path, journal }: { folder: string; path: string; journal: Journal },
) {
  const faults: Fault[] = []
  for (const { number, name, key } of lines) {
    if (name === null) continue
    const owner = ownerOf(name, journal.states)
    const fault = await faultOfFile(join(folder, name))
    if (fault !== null) faults.push({ number, what: `name: ${name} can't be written: ${fault}` })
    else if (owner !== null && owner.line !== key && (await exists(join(folder, owner.file))))
      faults.push({ number, what: `name: ${owner.file} is the film of another line; choose another name, or move it` })
  }
  complainOf(faults, path)
}

async function faultOfImage(image: string, folder: string): Promise<string | null> {
  return loadImage(image, folder).then(
    () => null,
    (error: Error) => error.message,
  )
}

interface Work {
  client: Client
  journal: Journal
  terminal: Terminal
  interrupts: Interrupts
  progress: Progress
}

/** The model of lines that name none. The question also shows whether the server is there, and what time it has. */
async function modelFor(lines: Line[], { client, journal, interrupts, progress }: Work): Promise<string> {
  const leaving = lines.filter(({ order }) => order.model === undefined)
  const needed = leaving.length > 0
  try {
    const [model] = (await client.models(interrupts.first)).models
    if (model && leaving.some(({ key }) => !journal.states.has(key))) progress.note(usingModel(model.id))
    if (model || !needed) return model?.id ?? ''
  } catch (error) {
    // Not every server lists its models.
    if (needed || !(error instanceof Failure && 'status' in error && error.status === 404)) throw error
    return ''
  }
  throw new Failure('the server lists no model; name one with --model')
}

/** What became of the submits that an earlier run did not see answered. */
async function findOpen(lines: Line[], { client, journal, terminal, interrupts, progress }: Work) {
  const open = lines.flatMap((line) => {
    const state = journal.states.get(line.key)
    return state && state.id === null ? [{ line, state }] : []
  })
  if (open.length === 0) return new Map<string, Verdict>()
  progress.note(`looking for ${count(open.length, 'film')} on the server whose submit was cut off`)
  const bound = new Set([...journal.states.values()].flatMap(({ id }) => (id === null ? [] : [id])))
  using row = progress.row(null)
  return await recover(client, open, { terminal, signal: interrupts.first, onTrouble: row.onTrouble, bound })
}

async function makeAll(lines: Line[], parallel: number, batch: Batch): Promise<Outcome[]> {
  const { terminal, progress } = batch
  const since = terminal.now()
  const outcomes: Outcome[] = []
  progress.total(() => totalLine(outcomes, lines.length, terminal.now() - since))
  const waiting = lines.values()
  const work = async () => {
    for (const line of waiting) {
      const outcome = await makeLine(line, batch)
      outcomes.push(outcome)
      const { file, error } = outcome
      const told = `${shownStatus(outcome)}${file === null ? '' : ` ${file}`}`
      if (error || !terminal.live) progress.note(`${line.label}: ${told}${error ? `: ${error}` : ''}`)
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
  return outcomes.toSorted((a, b) => a.line.number - b.line.number)
}

interface Report {
  terminal: Terminal
  folder: string
  json: boolean
  interrupted: boolean
}

function report(outcomes: Outcome[], { terminal, folder, json, interrupted }: Report): void {
  const pathOf = (file: string) => join(folder, file)
  if (json) terminal.out(jsonLine({ tasks: outcomes.map((outcome) => toJson(outcome, pathOf)) }))
  else terminal.out(summary(outcomes, terminal))
  const has = (status: Outcome['status']) => outcomes.some((outcome) => outcome.status === status)
  const advice = [
    interrupted || has('left running') || has('not started') ? 'Run the same command again to go on.' : null,
    has('unknown')
      ? 'Unknown: the server may or may not have taken these. Run the same command again\nto look for them; --resubmit-unknown submits those anew that can not be found out.'
      : null,
    has('failed') ? 'Failed ones stay as they are; --retry-failed makes them anew.' : null,
  ]
  terminal.err(`${[tally(outcomes), ...advice].filter(Boolean).join('\n')}\n`)
}
