import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { Problem } from '../core/problem.ts'

/** An attempt that is committed, or about to be, under a lease. */
export interface Unsent {
  attempt: string
  task: string
  fence: number
}

/**
 * The attempts that a process has committed and not sent, for the next process on its data folder. A note is one write
 * without fsync: it survives a kill of the process, but not a crash of the machine. Notes from before a reboot are ignored.
 */
export interface UnsentNotes extends Disposable {
  /** Before the attempt is committed. If no slot is free, nothing is noted, and a kill leaves the outcome unknown. */
  add(unsent: Unsent): void
  /** Right before the request for the task leaves. Throws if that can't be written: then the request must not leave. */
  strike(task: string): void
  all(): Unsent[]
}

/** A note fits into a slot. A slot never spans two pages: a kill could leave one of them unwritten. */
const slotBytes = 256
const slots = 16

/** `boot` identifies the time since the last reboot. It is empty if the system does not report it. */
export function openUnsentNotes(path: string, boot = bootId()): UnsentNotes {
  const notes = readNotes(path, boot)
  let file: number | undefined
  const write = (slot: number, note: Unsent | null) => {
    try {
      file ??= openFilled(path)
      const text = note ? JSON.stringify({ boot, inode: fstatSync(file).ino, ...note }) : ''
      const bytes = writeSync(file, slotOf(text), slot * slotBytes)
      if (bytes !== slotBytes) throw new Error(`only ${bytes} of ${slotBytes} bytes were written to ${path}`)
    } catch (error) {
      throw Problem.ofStorage(error)
    }
  }
  return {
    add(unsent) {
      const slot = notes.indexOf(null)
      if (boot === '' || slot === -1) return
      // Before the write: if it fails, a part of it may be on disk, and has to be struck all the same.
      notes[slot] = unsent
      try {
        write(slot, unsent)
      } catch {
        // Whether the request may leave is decided when the note is struck.
      }
    },
    strike(task) {
      for (const [slot, note] of notes.entries()) {
        if (note?.task !== task) continue
        write(slot, null)
        notes[slot] = null
      }
    },
    all: () => notes.filter((note) => note !== null),
    [Symbol.dispose]() {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

/** Allocates every slot at once, so that a note can still be struck after the disk has filled up. */
function openFilled(path: string): number {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size } = fstatSync(file)
    const empty = slotOf('').repeat(slots)
    if (size < empty.length) writeSync(file, empty.slice(size), size)
    if (fstatSync(file).size < empty.length) throw Problem.ofStorage(new Error(`the disk has no space for ${path}`))
    return file
  } catch (error) {
    closeSync(file)
    throw error
  }
}

function slotOf(text: string): string {
  return `${text.padEnd(slotBytes - 1)}\n`
}

/** By slot. Notes from before a reboot, in a copy of the file, or damaged are ignored. */
function readNotes(path: string, boot: string): (Unsent | null)[] {
  const [text, inode] = existsSync(path) ? [readFileSync(path, 'latin1'), statSync(path).ino] : ['', 0]
  return Array.from({ length: slots }, (_, slot) => {
    const note = readNote(text.slice(slot * slotBytes, (slot + 1) * slotBytes))
    return note?.boot === boot && note.inode === inode ? note.unsent : null
  })
}

function readNote(text: string) {
  try {
    const { boot, inode, attempt, task, fence } = JSON.parse(text) as Record<string, unknown>
    if (typeof attempt !== 'string' || typeof task !== 'string' || typeof fence !== 'number') return undefined
    return { boot, inode, unsent: { attempt, task, fence } }
  } catch {
    return undefined
  }
}

/** Only Linux reports it without a child process. */
function bootId(): string {
  const path = '/proc/sys/kernel/random/boot_id'
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
}
