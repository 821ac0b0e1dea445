import { randomUUID } from 'node:crypto'
import { access } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Client, Film } from '../client.ts'
import { diskFault } from '../disk.ts'
import { Failure, ServerFailure, UnknownOutcome, VideoFailure } from '../failure.ts'
import { prepare } from '../film.ts'
import { finish } from '../finish.ts'
import type { Interrupts } from '../interrupts.ts'
import { batchParts } from '../save.ts'
import type { Progress, Row } from '../screen/row.ts'
import { submitOnce } from '../submit.ts'
import type { Terminal } from '../terminal.ts'
import type { Task } from '../video.ts'
import type { Intent, Journal, Step } from './journal.ts'
import type { Line } from './lines.ts'
import type { Verdict } from './recover.ts'

/** What became of a line. */
export interface Outcome {
  line: Line
  status: 'done' | 'failed' | 'unknown' | 'error' | 'left running' | 'not started'
  id: string | null
  /** Inside the folder. */
  file: string | null
  /** An earlier run made it. */
  already: boolean
  tookMs: number | null
  error: string | null
}

export interface Batch {
  client: Client
  journal: Journal
  terminal: Terminal
  interrupts: Interrupts
  progress: Progress
  folder: string
  /** Where the images of the lines lie. */
  imageFolder: string
  model: string
  resubmitUnknown: boolean
  retryFailed: boolean
  /** What was found out of the lines that the journal leaves open. */
  verdicts: ReadonlyMap<string, Verdict>
  /** So many submits in a row ended in doubt. */
  doubts: number
  /** Why nothing more is submitted, if so. */
  halted: string | null
  /** The submit that is under way: one at a time, so that a crash leaves at most one in doubt. */
  submitting: Promise<unknown>
}

const mostDoubts = 3

/** Makes the film of one line, from wherever it was left. It never throws what concerns this line only. */
export async function makeLine(line: Line, batch: Batch): Promise<Outcome> {
  const { journal, terminal, folder, progress } = batch
  const outcome: Outcome = { line, status: 'done', id: null, file: null, already: false, tookMs: null, error: null }
  const before = journal.states.get(line.key)
  outcome.id = before?.id ?? null
  if (before?.done && (await exists(join(folder, before.done.file))))
    return { ...outcome, file: before.done.file, already: true, tookMs: before.done.took }
  if (before?.failed && !batch.retryFailed) return { ...outcome, status: 'failed', error: before.failed }
  if (batch.interrupts.first.aborted) return { ...outcome, status: outcome.id ? 'left running' : 'not started' }

  using row = progress.row(line.label)
  const since = terminal.now()
  try {
    outcome.id = before?.failed ? await submitLine(line, batch, row) : (outcome.id ?? (await idOf(line, batch, row)))
    const target = { folder, name: line.name, prompt: line.order.prompt }
    const watch = { ...row, terminal, signal: batch.interrupts.first, parts: batchParts }
    const { task, saved } = await finish(batch.client, outcome.id, target, watch)
    for (const warning of task.warnings) progress.note(`${line.label}: ${warning}`)
    const { createdAt, completedAt } = task
    const tookMs = createdAt !== null && completedAt !== null ? completedAt - createdAt : terminal.now() - since
    const file = basename(saved.path)
    await journal.record({ line: line.key, done: file, took: tookMs })
    return { ...outcome, file, tookMs }
  } catch (error) {
    return await accountFor(error, outcome, batch)
  }
}

/** Thrown for a line that nothing was submitted for. */
class NotStarted extends Error {}

async function idOf(line: Line, batch: Batch, row: Row): Promise<string> {
  const verdict = batch.verdicts.get(line.key) ?? 'none'
  if (verdict !== 'none' && 'id' in verdict) {
    await batch.journal.record({ line: line.key, id: verdict.id })
    return verdict.id
  }
  if (verdict !== 'none' && !batch.resubmitUnknown) throw new UnknownOutcome(verdict.unsure)
  return submitLine(line, batch, row)
}

async function submitLine(line: Line, batch: Batch, row: Row): Promise<string> {
  const turn = batch.submitting.then(() => submitNow(line, batch, row))
  batch.submitting = turn.catch(() => {})
  return turn
}

/** Intent, submit, id: each on the disk before the next. */
async function submitNow(line: Line, batch: Batch, row: Row): Promise<string> {
  const { journal, interrupts } = batch
  if (interrupts.first.aborted || batch.halted !== null) throw new NotStarted(batch.halted ?? '')
  const intent = intentFor(line, batch)
  const film = await prepare(line.order, intent.model, batch.imageFolder)
  await journal.record({ line: line.key, intent })
  try {
    const task = await submitIntent(film, intent, batch, row)
    await recordIfRoom({ line: line.key, id: task.id }, batch)
    batch.doubts = 0
    row.onTask(task)
    return task.id
  } catch (error) {
    if (madeNothing(error, intent)) await journal.record({ line: line.key, refused: (error as Error).message })
    throw error
  }
}

/** The same for the same submit, in key and model: a server that knows either makes nothing twice, whatever we think. */
function intentFor(line: Line, { client, journal, model }: Batch): Intent {
  const before = journal.states.get(line.key)
  const now = client.serverNow()
  if (before && before.id === null) return { ...before.intent, latest: now }
  return { key: randomUUID(), model: line.order.model ?? model, time: now }
}

/** So long after the first try Filmgate knows a repeat. Later, it might take another film of the same words for it. */
const repeatMs = 15 * 60_000
const mostRepeats = 3

/**
 * Submits, as a repeat if there was a try before. Filmgate answers a repeat with any film of the same words that may be
 * meant, each in its turn; if it names only those of other lines, there is none of this line's.
 */
async function submitIntent(film: Film, { key, time, latest }: Intent, batch: Batch, row: Row): Promise<Task> {
  const { client, journal, terminal, interrupts, progress } = batch
  const submitting = { terminal, interrupts, onTrouble: row.onTrouble, note: progress.note, key, patient: true }
  const bound = new Set([...journal.states.values()].map(({ id }) => id))
  const repeats = latest !== undefined && client.serverNow() - time < repeatMs ? mostRepeats : 0
  for (let count = 0; count < repeats; count += 1) {
    const task = await submitOnce(client, film, { ...submitting, again: true })
    if (!bound.has(task.id)) return task
  }
  return submitOnce(client, film, submitting)
}

/** For what the next run can find out again: a full disk is no reason to give it up in this one. */
async function recordIfRoom(step: Step, batch: Batch): Promise<void> {
  try {
    await batch.journal.record(step)
  } catch (error) {
    batch.halted = diskFault(error)
    if (batch.halted === null) throw error
  }
}

/** Whether it is certain that there is no film. A refusal of a repeat says nothing of the first try, unless of its content. */
function madeNothing(error: unknown, { latest }: Intent): boolean {
  if (error instanceof UnknownOutcome || diskFault(error) !== null) return false
  return latest === undefined || (error instanceof ServerFailure && [400, 404, 422].includes(error.status))
}

async function accountFor(error: unknown, outcome: Outcome, batch: Batch): Promise<Outcome> {
  const { line, id } = outcome
  if (error instanceof NotStarted) return { ...outcome, status: 'not started', error: error.message || null }
  if (error instanceof UnknownOutcome) {
    batch.doubts += 1
    if (batch.doubts >= mostDoubts) batch.halted = 'the server does not answer as it should'
    return { ...outcome, status: 'unknown', error: error.message }
  }
  const full = diskFault(error)
  if (full !== null) batch.halted = full
  if (full !== null) return { ...outcome, status: id ? 'left running' : 'not started', error: full }
  if (batch.interrupts.first.aborted) return { ...outcome, status: id ? 'left running' : 'not started' }
  // What is gone from the server is not coming back: like a failure, it is only made anew when asked for.
  const gone = id !== null && error instanceof ServerFailure && (error.status === 404 || error.status === 410)
  if (error instanceof VideoFailure || gone) {
    const reason = error instanceof VideoFailure ? (error.task.error?.message ?? error.message) : error.message
    await recordIfRoom({ line: line.key, failed: reason }, batch)
    return { ...outcome, status: 'failed', error: reason }
  }
  if (!(error instanceof Failure)) throw error
  if (error instanceof ServerFailure && (error.status === 401 || error.status === 403)) batch.halted = error.message
  return { ...outcome, status: 'error', error: error.message }
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
