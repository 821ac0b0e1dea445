import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { Problem } from './core/problem.ts'

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
  const notes: (Unsent | undefined)[] = Array.from({ length: slots }, () => undefined)
  for (const [slot, note] of readNotes(path, boot).entries()) notes[slot] = note
  let file: number | undefined
  const write = (slot: number, text: string) => {
    file ??= openFilled(path)
    const bytes = writeSync(file, slotOf(text), slot * slotBytes)
    if (bytes !== slotBytes) throw Problem.ofStorage(new Error(`${path} took ${bytes} of ${slotBytes} bytes`))
  }
  return {
    add(unsent) {
      const slot = notes.indexOf(undefined)
      if (boot === '' || slot === -1) return
      try {
        file ??= openFilled(path)
      } catch (error) {
        if (Problem.from(error).code === 'storage_unavailable') return
        throw error
      }
      // Before the write: if it fails, a part of it may be on disk, and has to be struck all the same.
      notes[slot] = unsent
      write(slot, JSON.stringify({ boot, ...unsent }))
    },
    strike(task) {
      const slot = notes.findIndex((note) => note?.task === task)
      if (slot === -1) return
      write(slot, '')
      notes[slot] = undefined
    },
    all: () => notes.filter((note) => note !== undefined),
    [Symbol.dispose]() {
      if (file !== undefined) closeSync(file)
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
    if (fstatSync(file).size < empty.length) throw Problem.ofStorage(new Error(`${path} has no room`))
    return file
  } catch (error) {
    closeSync(file)
    throw error
  }
}

function slotOf(text: string): string {
  return `${text.padEnd(slotBytes - 1)}\n`
}

/** By slot. Notes from before a reboot and damaged ones are ignored. */
function readNotes(path: string, boot: string): (Unsent | undefined)[] {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const lines = text.split('\n').slice(0, slots)
  return lines.map((line) => {
    try {
      const { boot: written, ...unsent } = JSON.parse(line) as Unsent & { boot: string }
      return written === boot ? unsent : undefined
    } catch {
      return undefined
    }
  })
}

/** Only Linux reports it without a child process. */
function bootId(): string {
  const path = '/proc/sys/kernel/random/boot_id'
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
}
