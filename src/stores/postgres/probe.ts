import { createHash } from 'node:crypto'
import { storageFaultOf } from '../../core/storage-fault.ts'
import { queueTask, type Task } from '../../core/task.ts'
import type { Database } from './database.ts'
import { statementOf } from './inserts.ts'
import type { Query } from './session.ts'

/** Whether the database can be written, by writing and by what became of the last submits. */
interface Probe {
  check(): Promise<void>
  /** Passes the outcome of a submit on. */
  watch(insertion: Promise<void>): Promise<void>
}

/** `name` tells this process from others: none may wait for another's row. */
export function openProbe(database: Database, name: string): Probe {
  /** A submit found no room: pages that the database has already may still take a little, which says nothing. */
  let isFull = false
  return {
    async check() {
      await database.write((query) => (isFull ? storeTask(query, name) : storeLittle(query, name)))
      isFull = false
    },
    watch: (insertion) =>
      insertion.catch((error) => {
        isFull ||= storageFaultOf(error) === 'full'
        throw error
      }),
  }
}

/** A small table that is written often. */
async function storeLittle(query: Query, name: string): Promise<void> {
  const account = `probe@${name}`
  await query("INSERT INTO healths (account, key_version, health, changed_at) VALUES ($1, '', '{}', 0)", [account])
  await query('DELETE FROM healths WHERE account = $1', [account])
}

async function storeTask(query: Query, name: string): Promise<void> {
  const task = largeTask(`probe_${name}`)
  const { text, json } = statementOf([task])
  await query(text, [json, Number.MAX_SAFE_INTEGER])
  await query('DELETE FROM tasks WHERE id = $1', [task.id])
}

/** Longer than any prompt, and of chance: the database packs all else. */
function largeTask(id: string): Task {
  const lines = Array.from({ length: 2_000 }, (_, at) => createHash('sha256').update(`${id} ${at}`).digest('hex'))
  const asked = { prompt: lines.join(''), seconds: 0, size: { width: 0, height: 0 }, parameters: {}, image: null }
  return queueTask({ id, ...asked, owner: '', model: '', card: '', digest: 0, startBy: 0, finishBy: 0 }, 0)
}
