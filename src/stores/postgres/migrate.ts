import { readdirSync, readFileSync } from 'node:fs'
import type { Database } from './database.ts'

const folder = new URL('../migrations/postgres/', import.meta.url)

/**
 * Brings the schema up to date, all or nothing, one process at a time. During a rolling update old processes use a
 * newer schema, if `usable_by` allows it.
 */
export async function migrate(database: Database): Promise<void> {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  await database.write(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    // Checked first: a user who may not create tables can still use existing ones.
    const [versions] = await query("SELECT to_regclass('schema_versions') IS NOT NULL AS found")
    if (versions?.found !== true)
      await query('CREATE TABLE schema_versions (version integer PRIMARY KEY, usable_by integer NOT NULL)')
    const [newest] = await query('SELECT version, usable_by FROM schema_versions ORDER BY version DESC LIMIT 1')
    if (Number(newest?.usable_by ?? 0) > files.length)
      throw new Error(
        "the database was changed by a newer version of Filmgate, which this version can't work with; upgrade Filmgate",
      )
    for (const [at, name] of files.entries()) {
      if (at < Number(newest?.version ?? 0)) continue
      const text = readFileSync(new URL(name, folder), 'utf8')
      await query(text)
      // A file that older versions can't work with says so in its first line: `-- usable by: 3`.
      const usableBy = Number(/^-- usable by: (\d+)/.exec(text)?.[1] ?? at)
      await query('INSERT INTO schema_versions (version, usable_by) VALUES ($1, $2)', [at + 1, usableBy])
    }
  }, longMs)
}

/** Creating an index over many rows takes long. */
const longMs = 3_600_000

/** Arbitrary numbers, the same in every process. */
const migrationLock = 6_025_001
/** With the hash of a scope: a process is claiming there. */
export const queueLock = 6_025_002
export const moveLock = 6_025_003
export const endpointLock = 6_025_004
/** One change of tokens at a time. */
export const tokenLock = 6_025_005
/** With the hash of an owner: its waiting tasks are counted for a submit. */
export const submitLock = 6_025_006
/** One change of what operators declare at a time. */
export const declarationLock = 6_025_008
