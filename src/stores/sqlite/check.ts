import { execFile } from 'node:child_process'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Told } from './check-child.ts'

/** Where what was found is told. */
export interface Report {
  info(event: string, fields: Record<string, unknown>): void
  warn(event: string, fields: Record<string, unknown>): void
}

/** However large it is, a start is held up no longer than this. */
const patienceMs = 5_000

/** SQLite's codes for a file that makes no sense: CORRUPT and NOTADB. */
const damageCodes = new Set([11, 26])

export function isDamage(errcode = 0): boolean {
  return damageCodes.has(errcode & 0xff)
}

/** The next start looks through it, although this process ends cleanly. */
export function suspect(path: string, why: string): void {
  try {
    writeFileSync(suspectFile(path), why)
  } catch {
    // A disk that does not even take that: the log has it.
  }
}

/**
 * Looks through a database whose last process did not end cleanly: it left a log, which a clean end empties, or met damage.
 * Throws if it is damaged, before anything is written: on a damaged database no promise can be kept, for a row that can't
 * be read may be an attempt that was paid for.
 */
export async function checkAfterCrash(path: string, report: Report, withinMs = patienceMs): Promise<void> {
  if (!hasLog(path) && !existsSync(suspectFile(path))) return
  const { told, isCutOff } = await ask(path, withinMs)
  const faults = told.flatMap((one) => {
    if ('faults' in one) return one.faults.map((fault) => `table ${one.table}: ${fault}`)
    return 'unopened' in one && isDamage(one.errcode) ? [one.unopened] : []
  })
  if (faults.length > 0)
    throw new Error(
      `it is damaged (${faults.slice(0, 5).join('; ')}); nothing was changed: restore a backup, ` +
        'as docs/operations.md says under "A damaged database"',
    )
  const sound = told.flatMap((one) => ('table' in one ? [one.table] : []))
  const unchecked = told.flatMap((one) => ('tables' in one ? one.tables.filter((name) => !sound.includes(name)) : []))
  if (!isCutOff && unchecked.length === 0 && sound.length > 0) {
    rmSync(suspectFile(path), { force: true })
    return report.info('the database was checked after an unclean end, and is sound', { tables: sound })
  }
  const why = told.flatMap((one) => ('unopened' in one ? [one.unopened] : []))[0] ?? `it took more than ${withinMs} ms`
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

function ask(path: string, withinMs: number): Promise<{ told: Told[]; isCutOff: boolean }> {
  const program = fileURLToPath(new URL('./check-child.ts', import.meta.url))
  const options = { timeout: withinMs, killSignal: 'SIGKILL', env: {} } as const
  return new Promise((resolve) => {
    execFile(process.execPath, [program, path], options, (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line.endsWith('}'))
      resolve({ told: lines.map((line) => JSON.parse(line) as Told), isCutOff: error !== null })
    })
  })
}
