import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isObject } from '../../wire/schema.ts'
import { Failure } from '../failure.ts'

/** A submit, written down before it is sent. */
export interface Intent {
  /** The Idempotency-Key of the submit. */
  key: string
  model: string
  /** The time of the first try, by the server's clock, in milliseconds. */
  time: number
  /** The time of the latest try, if there were several. */
  latest?: number
}

/** What the journal knows of a line. Without an id, the video may or may not be on the server. */
export interface LineState {
  intent: Intent
  id: string | null
  done: { file: string; took: number | null } | null
  /** Why it failed. */
  failed: string | null
}

/** One step of one line of the batch: one line of the journal. */
export type Step = { line: string } & (
  | { intent: Intent }
  | { id: string }
  | { done: string; took: number | null }
  | { failed: string }
  /** The server certainly did not accept it. */
  | { refused: string }
)

/** The steps so far. Each is on the disk before the next one happens. */
export interface Journal extends AsyncDisposable {
  readonly states: ReadonlyMap<string, LineState>
  /** Resolves after the fsync. */
  record(step: Step): Promise<void>
}

export const journalName = '.filmgate-batch.jsonl'
const lockName = '.filmgate-batch.lock'

/** Opens and locks the journal of a folder. `baseUrl`: its ids are valid only on that server. */
export async function openJournal(folder: string, baseUrl: string): Promise<Journal> {
  await using stack = new AsyncDisposableStack()
  stack.use(takeLock(folder))
  const path = join(folder, journalName)
  const file = stack.use(await open(path, 'a+', 0o600))
  const { states, length } = await readJournal(file, path, baseUrl)
  // A partial line is of a process that died before it acted on the step.
  await file.truncate(length)
  if (length === 0) {
    await append(file, { journal: 'filmgate-batch', version: 1, base_url: baseUrl })
    await syncFolder(folder)
  }
  const held = stack.move()
  let last: Promise<void> = Promise.resolve()
  const write = async (step: Step) => {
    const { size } = await file.stat()
    try {
      await append(file, step)
    } catch (error) {
      // A partial line in the middle would make the journal unreadable.
      await file.truncate(size)
      throw error
    }
    apply(states, step)
  }
  return {
    states,
    record(step) {
      const written = last.then(() => write(step))
      last = written.catch(() => {})
      return written
    },
    async [Symbol.asyncDispose]() {
      await last
      await held.disposeAsync()
    },
  }
}

async function append(file: FileHandle, entry: object): Promise<void> {
  await file.appendFile(`${JSON.stringify(entry)}\n`)
  await file.datasync()
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

/** The kernel releases this lock when the process dies. */
function takeLock(folder: string): Disposable {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(folder, lockName), { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database?.close()
    const { errcode, message } = cause as Error & { errcode?: number }
    if (errcode === busy) throw new Failure(`another batch is running in ${folder}`, { cause })
    throw new Failure(`the batch can't keep its journal in ${folder}: ${message}`, { cause })
  }
  const held = database
  return { [Symbol.dispose]: () => held.close() }
}

/** SQLITE_BUSY: another process holds the lock. */
const busy = 5

/** The states, and the length in bytes of the complete lines. */
async function readJournal(file: FileHandle, path: string, baseUrl: string) {
  const bytes = await file.readFile()
  const length = bytes.lastIndexOf(0x0a) + 1
  const states = new Map<string, LineState>()
  for (const [at, text] of bytes.subarray(0, length).toString('utf8').split('\n').slice(0, -1).entries()) {
    const entry = parse(text)
    if (!entry) throw new Failure(`line ${at + 1} of ${path} can't be read; fix it, or use another folder`)
    if (at > 0) apply(states, entry as unknown as Step)
    else if (entry.base_url !== baseUrl) {
      throw new Failure(`${path} is of a batch on ${entry.base_url}, not on ${baseUrl}`, {
        hint: 'Use another folder. If the server has a new address, change the first line of that file.',
      })
    }
  }
  return { states, length }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? json : null
  } catch {
    return null
  }
}

function apply(states: Map<string, LineState>, step: Step): void {
  if ('intent' in step) {
    states.set(step.line, { intent: step.intent, id: null, done: null, failed: null })
    return
  }
  if ('refused' in step) {
    states.delete(step.line)
    return
  }
  const state = states.get(step.line)
  if (!state) return
  if ('id' in step) state.id = step.id
  else if ('failed' in step) state.failed = step.failed
  else {
    // The file of another line with this name was replaced.
    for (const other of states.values()) if (other.done && isSameFile(other.done.file, step.done)) other.done = null
    state.done = { file: step.done, took: step.took }
  }
}

/** Some file systems ignore case. */
function isSameFile(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** The line that owns a file, and the name as it was written. */
export function ownerOf(file: string, states: Journal['states']): { line: string; file: string } | null {
  for (const [line, { done }] of states) if (done && isSameFile(done.file, file)) return { line, file: done.file }
  return null
}
