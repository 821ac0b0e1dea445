import { randomUUID } from 'node:crypto'
import { access } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../../core/problem.ts'
import type { Client, VideoRequest } from '../client.ts'
import { diskFault, Failure, ServerFailure, UnknownOutcome, VideoFailure } from '../failure.ts'
import { finish } from '../finish.ts'
import type { Interrupts } from '../interrupts.ts'
import { batchParts } from '../save.ts'
import type { Progress, Row } from '../screen/row.ts'
import { submitOnce } from '../submit.ts'
import type { Terminal } from '../terminal.ts'
import type { Task } from '../video.ts'
import { prepare } from '../video-request.ts'
import type { Intent, Journal, Step } from './journal.ts'
import type { Line } from './lines.ts'
import type { Verdict } from './recover.ts'

/** The result of a line. */
export interface Outcome {
  line: Line
  status: 'done' | 'failed' | 'unknown' | 'error' | 'left running' | 'not started'
  id: string | null
  /** Relative to the folder. */
  file: string | null
  /** It was done by an earlier run. */
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
  /** Paths of images are relative to it. */
  imageFolder: string
  model: string
  resubmitUnknown: boolean
  retryFailed: boolean
  /** For lines whose submit has no response in the journal. */
  verdicts: ReadonlyMap<string, Verdict>
  /** The number of submits in a row with an unknown outcome. */
  doubts: number
  /** Why nothing more is submitted; null while submits go on. */
  halted: string | null
  /** The running submit: one at a time, so that a crash leaves at most one outcome unknown. */
  submitting: Promise<unknown>
}

const mostDoubts = 3

/** Creates the video of one line, or continues it. Failures of this line alone are in the outcome. */
export async function createLine(line: Line, batch: Batch): Promise<Outcome> {
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
    return await failedOutcome(error, outcome, batch)
  }
}

/** Nothing was submitted for the line. */
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

/** Intent, submit, id: each is on the disk before the next step. */
async function submitNow(line: Line, batch: Batch, row: Row): Promise<string> {
  const { journal, interrupts } = batch
  if (interrupts.first.aborted || batch.halted !== null) throw new NotStarted(batch.halted ?? '')
  const intent = intentFor(line, batch)
  const request = await prepare(line.order, intent.model, batch.imageFolder)
  await journal.record({ line: line.key, intent })
  try {
    const task = await submitIntent(request, intent, batch, row)
    await recordIfRoom({ line: line.key, id: task.id }, batch)
    batch.doubts = 0
    row.onTask(task)
    return task.id
  } catch (error) {
    if (createdNothing(error, intent)) await journal.record({ line: line.key, refused: messageOf(error) })
    throw error
  }
}

/** A repeat has the key and the model of the first try, so that the server can recognise it. */
function intentFor(line: Line, { client, journal, model }: Batch): Intent {
  const before = journal.states.get(line.key)
  const now = client.serverNow()
  if (before && before.id === null) return { ...before.intent, latest: now }
  return { key: randomUUID(), model: line.order.model ?? model, time: now }
}

/** How long after the first try Filmgate recognises a repeat. Later, another video of the same prompt could match. */
const repeatMs = 15 * 60_000
const mostRepeats = 3

/**
 * Submits, as a repeat if there was an earlier try. Filmgate responds to repeats with the videos of the same request,
 * one after the other. If all of them belong to other lines, the video of this line does not exist.
 */
async function submitIntent(
  request: VideoRequest,
  { key, time, latest }: Intent,
  batch: Batch,
  row: Row,
): Promise<Task> {
  const { client, journal, terminal, interrupts, progress } = batch
  const submitting = { terminal, interrupts, onTrouble: row.onTrouble, note: progress.note, key, patient: true }
  const bound = new Set([...journal.states.values()].map(({ id }) => id))
  const repeats = latest !== undefined && client.serverNow() - time < repeatMs ? mostRepeats : 0
  for (let count = 0; count < repeats; count += 1) {
    const task = await submitOnce(client, request, { ...submitting, again: true })
    if (!bound.has(task.id)) return task
  }
  return submitOnce(client, request, submitting)
}

/** For steps that the next run can find out: on a full disk this run continues without them. */
async function recordIfRoom(step: Step, batch: Batch): Promise<void> {
  try {
    await batch.journal.record(step)
  } catch (error) {
    batch.halted = diskFault(error)
    if (batch.halted === null) throw error
  }
}

/** Whether certainly no video exists. A refused repeat proves that only if its content is refused. */
function createdNothing(error: unknown, { latest }: Intent): boolean {
  if (error instanceof UnknownOutcome || diskFault(error) !== null) return false
  return latest === undefined || (error instanceof ServerFailure && [400, 404, 422].includes(error.status))
}

async function failedOutcome(error: unknown, outcome: Outcome, batch: Batch): Promise<Outcome> {
  const { line, id } = outcome
  if (error instanceof NotStarted) return { ...outcome, status: 'not started', error: error.message || null }
  if (error instanceof UnknownOutcome) {
    batch.doubts += 1
    if (batch.doubts >= mostDoubts) batch.halted = `the outcome of ${mostDoubts} submits in a row is unknown`
    return { ...outcome, status: 'unknown', error: error.message }
  }
  const fault = diskFault(error)
  if (fault !== null) batch.halted = fault
  if (fault !== null) return { ...outcome, status: id ? 'left running' : 'not started', error: fault }
  if (batch.interrupts.first.aborted) return { ...outcome, status: id ? 'left running' : 'not started' }
  // A video that was removed from the server counts as failed: only --retry-failed creates it again.
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
