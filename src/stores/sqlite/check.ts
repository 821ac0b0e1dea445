import { execFile } from 'node:child_process'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { CheckMessage } from './check-child.ts'

/** Receives the result of a check. */
export interface Report {
  info(event: string, fields: Record<string, unknown>): void
  warn(event: string, fields: Record<string, unknown>): void
}

/** The check delays a start by no more than this, however large the database is. */
const longestCheckMs = 5_000

/** SQLite's codes for a damaged file: CORRUPT and NOTADB. */
const damageCodes = new Set([11, 26])

export function isDamage(errcode = 0): boolean {
  return damageCodes.has(errcode & 0xff)
}

/** Makes the next start check the database, even if this process ends cleanly. */
export function suspect(path: string, why: string): void {
  try {
    writeFileSync(suspectFile(path), why)
  } catch {
    // The disk can't be written. The log has the damage.
  }
}

/**
 * Checks a database whose last process did not end cleanly: it left a log, which a clean end empties, or found damage.
 * Throws if the database is damaged, before anything is written: a row that can't be read may be an attempt that was
 * paid for.
 */
export async function checkAfterCrash(path: string, report: Report, withinMs = longestCheckMs): Promise<void> {
  if (!hasLog(path) && !existsSync(suspectFile(path))) return
  const { messages, isCutOff } = await runCheck(path, withinMs)
  const faults = messages.flatMap((one) => {
    if ('faults' in one) return one.faults.map((fault) => `table ${one.table}: ${fault}`)
    return 'unopened' in one && isDamage(one.errcode) ? [one.unopened] : []
  })
  if (faults.length > 0)
    throw new Error(
      `it is damaged (${faults.slice(0, 5).join('; ')}); nothing was changed: restore a backup, ` +
        'as docs/operations.md says under "A damaged database"',
    )
  const sound = messages.flatMap((one) => ('table' in one ? [one.table] : []))
  const unchecked = messages.flatMap((one) =>
    'tables' in one ? one.tables.filter((name) => !sound.includes(name)) : [],
  )
  if (!isCutOff && unchecked.length === 0 && sound.length > 0) {
    rmSync(suspectFile(path), { force: true })
    return report.info('the database was checked after an unclean end, and is sound', { tables: sound })
  }
  const why =
    messages.flatMap((one) => ('unopened' in one ? [one.unopened] : []))[0] ?? `it took more than ${withinMs} ms`
  const event =
    'the database was not wholly checked after an unclean end; `PRAGMA integrity_check` of sqlite3 does that'
  report.warn(event, { why, sound, unchecked })
}

function suspectFile(path: string): string {
  return `${path}-suspect`
}

function hasLog(path: string): boolean {
  const log = `${path}-wal`
  return existsSync(log) && statSync(log).size > 0
}

function runCheck(path: string, withinMs: number): Promise<{ messages: CheckMessage[]; isCutOff: boolean }> {
  const program = fileURLToPath(new URL('./check-child.ts', import.meta.url))
  const options = { timeout: withinMs, killSignal: 'SIGKILL', env: {} } as const
  return new Promise((resolve) => {
    execFile(process.execPath, [program, path], options, (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line.endsWith('}'))
      resolve({ messages: lines.map((line) => JSON.parse(line) as CheckMessage), isCutOff: error !== null })
    })
  })
}
