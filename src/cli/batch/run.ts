import { randomUUID } from 'node:crypto'
import { access } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Client } from '../client.ts'
import { Failure, ServerFailure, UnknownOutcome, VideoFailure } from '../failure.ts'
import { prepare } from '../film.ts'
import { finish } from '../finish.ts'
import type { Interrupts } from '../interrupts.ts'
import type { Progress, Row } from '../screen/row.ts'
import { slug } from '../slug.ts'
import { submitOnce } from '../submit.ts'
import type { Terminal } from '../terminal.ts'
import type { Journal } from './journal.ts'
import type { Line } from './lines.ts'
import type { Verdict } from './recover.ts'

/** What became of a line. */
export interface Outcome {
  line: Line
  status: 'done' | 'failed' | 'unknown' | 'error' | 'left running' | 'not started'
  id: string | null
  /** Inside the folder. */
  file: string | null
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
  const outcome: Outcome = { line, status: 'done', id: null, file: null, tookMs: null, error: null }
  const before = journal.states.get(line.key)
  outcome.id = before?.id ?? null
  if (before?.done && (await exists(join(folder, before.done.file))))
    return { ...outcome, file: before.done.file, tookMs: before.done.took }
  if (before?.failed && !batch.retryFailed) return { ...outcome, status: 'failed', error: before.failed }
  if (batch.interrupts.first.aborted) return { ...outcome, status: outcome.id ? 'left running' : 'not started' }

  using row = progress.row(labelOf(line))
  const since = terminal.now()
  try {
    outcome.id = before?.failed ? await submitLine(line, batch, row) : (outcome.id ?? (await idOf(line, batch, row)))
    const target = { folder, name: line.name, prompt: line.order.prompt }
    const watch = { ...row, terminal, signal: batch.interrupts.first }
    const { task, saved } = await finish(batch.client, outcome.id, target, watch)
    const { createdAt, completedAt } = task
    const tookMs = createdAt !== null && completedAt !== null ? completedAt - createdAt : terminal.now() - since
    const file = basename(saved.path)
    await journal.record({ line: line.key, done: file, took: tookMs })
    return { ...outcome, file, tookMs }
  } catch (error) {
    return await accountFor(error, outcome, batch)
  }
}

export function labelOf({ order, name }: Line): string {
  return name?.replace(/\.mp4$/i, '') ?? slug(order.prompt)
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
  const { client, journal, terminal, interrupts } = batch
  if (interrupts.first.aborted || batch.halted !== null) throw new NotStarted(batch.halted ?? '')
  const model = line.order.model ?? batch.model
  const film = await prepare(line.order, model, batch.imageFolder)
  // The same key for the same intent: a server that honours it makes nothing twice, whatever we think.
  const before = journal.states.get(line.key)
  const key = before && before.id === null ? before.intent.key : randomUUID()
  await journal.record({ line: line.key, intent: { key, model, time: client.serverNow() } })
  try {
    const watch = { terminal, signal: interrupts.second, onTrouble: row.onTrouble }
    const task = await submitOnce(client, film, { ...watch, key, patient: true })
    await journal.record({ line: line.key, id: task.id })
    batch.doubts = 0
    row.onTask(task)
    return task.id
  } catch (error) {
    if (error instanceof Failure && !(error instanceof UnknownOutcome))
      await journal.record({ line: line.key, refused: error.message })
    throw error
  }
}

async function accountFor(error: unknown, outcome: Outcome, batch: Batch): Promise<Outcome> {
  const { journal, interrupts } = batch
  const { line, id } = outcome
  if (error instanceof NotStarted) return { ...outcome, status: 'not started', error: error.message || null }
  if (error instanceof UnknownOutcome) {
    batch.doubts += 1
    if (batch.doubts >= mostDoubts) batch.halted = 'the server does not answer as it should'
    return { ...outcome, status: 'unknown', error: error.message }
  }
  if (interrupts.first.aborted) return { ...outcome, status: id ? 'left running' : 'not started' }
  // What is gone from the server is not coming back: like a failure, it is only made anew when asked for.
  const gone = id !== null && error instanceof ServerFailure && (error.status === 404 || error.status === 410)
  if (error instanceof VideoFailure || gone) {
    const reason = error instanceof VideoFailure ? (error.task.error?.message ?? error.message) : error.message
    await journal.record({ line: line.key, failed: reason })
    return { ...outcome, status: 'failed', error: reason }
  }
  if (!(error instanceof Failure)) throw error
  if (error instanceof ServerFailure && (error.status === 401 || error.status === 403)) batch.halted = error.message
  return { ...outcome, status: 'error', error: error.message }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
