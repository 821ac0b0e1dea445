import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from '../core/problem.ts'
import { type Command, readArguments, type Values } from './arguments.ts'
import { type Journal, openJournal, ownerOf } from './batch/journal.ts'
import { decode, type Fault, type Line, readLines } from './batch/lines.ts'
import { recover, type Verdict } from './batch/recover.ts'
import { type Batch, createLine, exists, type Outcome } from './batch/run.ts'
import { type Client, openClient } from './client.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { diskFault, exits, Failure, UsageFailure } from './failure.ts'
import { type Interrupts, listenForInterrupts } from './interrupts.ts'
import { sweepParts } from './save.ts'
import { openProgress } from './screen/progress.ts'
import type { Progress } from './screen/row.ts'
import { type Column, roomOf, table } from './screen/table.ts'
import { type Colour, jsonLine, painter, printable } from './screen/text.ts'
import { clockTime, count } from './screen/wording.ts'
import { faultOfFile } from './target.ts'
import type { Terminal } from './terminal.ts'
import { isImageUrl, loadImage, type Order, readOrder, usingModel, videoHelp, videoOptions } from './video-request.ts'

const help = `Usage: filmgate batch FILE -o FOLDER [options]

Creates a video for each line of a file, several at a time. Run the same command
again to go on after an interrupt or a crash: no video is created twice.

A line is a prompt, or a JSON object:
  # comments and blank lines are skipped
  a red fox in snow at dusk
  {"prompt": "it looks up", "seconds": 8, "image": "fox.png", "name": "fox-2"}
Fields: prompt, model, seconds, size, image, seed, caption, name (of the file).
Paths of images are relative to FILE. The options below are the defaults for
every line.

Examples:
  filmgate batch prompts.jsonl -o out/
  filmgate batch prompts.txt -o out/ -n 2 --size 1280x720 --seconds 4

Options:
  -o, --output DIR    the folder for the videos and the journal of the batch; an
                      existing file is replaced
  -n, --parallel N    how many at a time, up to 99 (4)
  --resubmit-unknown  submit a line again if it is unknown whether the server
                      accepted it
  --retry-failed      create failed videos again
  --json              one JSON object on stdout instead of the table

${videoHelp}
${connectionHelp}
Exit codes: 0 all done, 3 some videos failed, 1 anything else, 2 a mistake in
the command or the file, 130 interrupted.
`

const options = {
  ...connectionOptions,
  ...videoOptions,
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
    if (!folder) throw new UsageFailure('-o is missing; set it to the folder for the videos')
    if (!/^[1-9]\d?$/.test(parallel)) throw new UsageFailure(`-n ${parallel}: use a number from 1 to 99`)
    const [path = ''] = operands
    const lines = await readVideos(path, values)
    const client = openClient(findConnection(values, terminal.env), terminal)
    await createFolder(folder)
    await using journal = await openJournal(folder, client.baseUrl)
    await checkNames(lines, { folder, path, journal })
    await sweepParts(folder)

    using interrupts = listenForInterrupts(terminal)
    const settings = {
      folder,
      imageFolder: dirname(path),
      client,
      journal,
      terminal,
      interrupts,
      doubts: 0,
      halted: null,
      resubmitUnknown: values['resubmit-unknown'] ?? false,
      retryFailed: values['retry-failed'] ?? false,
    }
    const outcomes = await (async () => {
      using progress = openProgress(terminal, { quiet: true })
      const model = await modelFor(lines, { ...settings, progress })
      const verdicts = await findOpen(lines, { ...settings, progress })
      const batch = { ...settings, progress, model, verdicts, submitting: Promise.resolve() }
      return await createAll(lines, Number(parallel), batch)
    })()
    report(outcomes, { terminal, folder, json: values.json ?? false, interrupted: interrupts.first.aborted })
    return exitCodeOf(outcomes, interrupts.first.aborted)
  },
}

/** Every line of the file. Throws with every mistake in it. */
async function readVideos(path: string, flags: Values<typeof options>): Promise<Line[]> {
  const { prompt: _, ...defaults }: Order = readOrder('of each line', flags)
  if (defaults.image !== undefined && !isImageUrl(defaults.image)) defaults.image = resolve(defaults.image)
  const bytes = await readFile(path).catch((error: unknown) => {
    const code = codeOf(error)
    throw new UsageFailure(`${path} can't be read: ${code === 'ENOENT' ? 'there is no such file' : code}`)
  })
  const { text, fault } = decode(bytes)
  const { lines, faults } = readLines(text, defaults)
  if (fault !== null) faults.push(fault)
  for (const { number, order } of lines) {
    const what = order.image === undefined ? null : await faultOfImage(order.image, dirname(path))
    if (what !== null) faults.push({ number, what })
  }
  throwFaults(faults, path)
  if (lines.length === 0) throw new UsageFailure(`${path} has no prompts`)
  return lines
}

function throwFaults(faults: Fault[], path: string): void {
  if (faults.length === 0) return
  const list = faults
    .toSorted((a, b) => a.number - b.number)
    .map(({ number, what }) => `  line ${number}: ${printable(what)}`)
  throw new UsageFailure(`${count(faults.length, 'mistake')} in ${path}; nothing was submitted`, list.join('\n'))
}

async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    const code = codeOf(error)
    const reason = code === 'EEXIST' || code === 'ENOTDIR' ? 'it is not a folder' : (diskFault(error) ?? code)
    throw new UsageFailure(`-o ${folder}: ${reason}`)
  }
}

/** Two videos of a folder can't have the same name, even in two lists: one would replace the other. */
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
      faults.push({ number, what: `name: ${owner.file} is the video of another line; choose another name, or move it` })
  }
  throwFaults(faults, path)
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

/** The default model. The request also shows that the server can be reached, and the time of its clock. */
async function modelFor(lines: Line[], { client, journal, interrupts, progress }: Work): Promise<string> {
  const withoutModel = lines.filter(({ order }) => order.model === undefined)
  const needed = withoutModel.length > 0
  try {
    const [model] = (await client.models(interrupts.first)).models
    if (model && withoutModel.some(({ key }) => !journal.states.has(key))) progress.note(usingModel(model.id))
    if (model || !needed) return model?.id ?? ''
  } catch (error) {
    // Not every server lists its models.
    if (needed || !(error instanceof Failure && 'status' in error && error.status === 404)) throw error
    return ''
  }
  throw new Failure('the server lists no model; name one with --model')
}

/** Finds the videos of submits that an earlier run sent without getting a response. */
async function findOpen(lines: Line[], { client, journal, terminal, interrupts, progress }: Work) {
  const open = lines.flatMap((line) => {
    const state = journal.states.get(line.key)
    return state && state.id === null ? [{ line, state }] : []
  })
  if (open.length === 0) return new Map<string, Verdict>()
  progress.note(`looking for ${count(open.length, 'video')} on the server whose submit was interrupted`)
  const bound = new Set([...journal.states.values()].flatMap(({ id }) => (id === null ? [] : [id])))
  using row = progress.row(null)
  return await recover(client, open, { terminal, signal: interrupts.first, onTrouble: row.onTrouble, bound })
}

async function createAll(lines: Line[], parallel: number, batch: Batch): Promise<Outcome[]> {
  const { terminal, progress } = batch
  const since = terminal.now()
  const outcomes: Outcome[] = []
  progress.total(() => totalLine(outcomes, lines.length, terminal.now() - since))
  const waiting = lines.values()
  const work = async () => {
    for (const line of waiting) {
      const outcome = await createLine(line, batch)
      outcomes.push(outcome)
      const { file, error } = outcome
      const status = `${shownStatus(outcome)}${file === null ? '' : ` ${file}`}`
      if (error || !terminal.live) progress.note(`${line.label}: ${status}${error ? `: ${error}` : ''}`)
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
      ? 'Unknown: the server may have accepted these videos. Run the same command again\nto look for them. --resubmit-unknown submits the rest again.'
      : null,
    has('failed') ? 'Failed videos stay failed; --retry-failed creates them again.' : null,
  ]
  terminal.err(`${[tally(outcomes), ...advice].filter(Boolean).join('\n')}\n`)
}

type Shown = Outcome['status'] | 'already there'

/** In the order of the tally. */
const colours: Record<Shown, Colour> = {
  done: 'green',
  'already there': 'green',
  failed: 'red',
  error: 'red',
  unknown: 'yellow',
  'left running': 'cyan',
  'not started': 'dim',
}

/** Distinguishes videos that an earlier run has downloaded. */
function shownStatus({ status, already }: Outcome): Shown {
  return already ? 'already there' : status
}

/** The table at the end. */
function summary(outcomes: readonly Outcome[], terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const columns: Column<Outcome>[] = [
    { title: 'LINE', text: ({ line }) => String(line.number), align: 'right' },
    { title: 'FILE', text: ({ line, file }) => file ?? `(${line.label})`, least: 12, cut: 'middle' },
    { title: 'STATUS', text: shownStatus, paint: (outcome, text) => paint(colours[shownStatus(outcome)], text) },
    {
      title: 'TOOK',
      align: 'right',
      extra: true,
      text: ({ tookMs }) => (tookMs === null ? '' : clockTime(tookMs)),
    },
    { title: 'ERROR', text: ({ error }) => error ?? '', least: 8 },
  ]
  const kept = outcomes.some(({ error }) => error) ? columns : columns.slice(0, -1)
  return table(outcomes, kept, { columns: roomOf(terminal), paint })
}

/** `4 done, 1 failed, 1 not started`. */
function tally(outcomes: readonly Outcome[]): string {
  const counts = Map.groupBy(outcomes, shownStatus)
  const order = Object.keys(colours) as Shown[]
  return order.flatMap((status) => (counts.has(status) ? [`${counts.get(status)?.length} ${status}`] : [])).join(', ')
}

/** The line below the bars. */
function totalLine(outcomes: readonly Outcome[], all: number, elapsedMs: number): string {
  const waiting = all - outcomes.length
  const counts = tally(outcomes)
  return `${outcomes.length} of ${all}${counts ? `: ${counts}` : ''}${waiting > 0 ? `, ${waiting} to go` : ''}  ${clockTime(elapsedMs)}`
}

function toJson({ line, status, id, file, tookMs, error }: Outcome, pathOf: (file: string) => string) {
  const seconds = tookMs === null ? null : Math.round(tookMs / 1000)
  return { line: line.number, status, id, file: file === null ? null : pathOf(file), seconds_taken: seconds, error }
}

function exitCodeOf(outcomes: readonly Outcome[], interrupted: boolean): number {
  if (outcomes.every(({ status }) => status === 'done')) return exits.done
  if (interrupted) return exits.interrupted
  return outcomes.some(({ status }) => status === 'failed') ? exits.videoFailed : exits.error
}
