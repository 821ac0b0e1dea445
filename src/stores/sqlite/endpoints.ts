import type { DatabaseSync } from 'node:sqlite'
import { readable } from '../../core/row.ts'
import type { Endpoint, EndpointChange } from '../../core/webhook.ts'
import { endpointColumns, fromEndpoint, toEndpoint } from '../../core/webhook-row.ts'
import type { Store } from '../store.ts'

const all = endpointColumns.join(', ')
const marks = endpointColumns.map((name) => `:${name}`).join(', ')

/** Where clients want to be told; runs in the writer thread, inside its transaction. */
export function prepareEndpoints(database: DatabaseSync) {
  const count = database.prepare('SELECT count(*) AS count FROM endpoints WHERE owner = ?')
  const insert = database.prepare(`INSERT INTO endpoints (${all}) VALUES (${marks})`)
  const replace = database.prepare(`INSERT OR REPLACE INTO endpoints (${all}) VALUES (${marks})`)
  const one = database.prepare(`SELECT ${all} FROM endpoints WHERE owner = ? AND id = ?`)
  const remove = database.prepare('DELETE FROM endpoints WHERE owner = ? AND id = ?')
  const disable = database.prepare(
    'UPDATE endpoints SET disabled_at = ?, disabled_why = ? WHERE id = ? AND disabled_at IS NULL',
  )
  return {
    insertEndpoint(endpoint: Endpoint, most: number): boolean {
      if (Number(count.get(endpoint.owner)?.count) >= most) return false
      insert.run(fromEndpoint(endpoint))
      return true
    },
    updateEndpoint(owner: string, id: string, change: EndpointChange): Endpoint | null {
      const was = one.get(owner, id)
      if (!was) return null
      const endpoint = { ...toEndpoint(was), ...change }
      replace.run(fromEndpoint(endpoint))
      return endpoint
    },
    deleteEndpoint: (owner: string, id: string) => remove.run(owner, id).changes === 1,
    disableEndpoint(id: string, at: number, why: string): void {
      disable.run(at, why, id)
    },
  }
}

/** What is only read of them; runs on the main thread. */
export function prepareEndpointReads(reader: DatabaseSync): Pick<Store, 'endpoints' | 'endpoint' | 'dueEndpoints'> {
  const one = reader.prepare(`SELECT ${all} FROM endpoints WHERE id = ?`)
  const list = reader.prepare(
    `SELECT ${all} FROM endpoints INDEXED BY endpoints_owner WHERE owner = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  const nextWaiting = reader.prepare(
    `SELECT endpoint, due_at FROM deliveries INDEXED BY deliveries_due
     WHERE state = 'pending' AND endpoint > ? ORDER BY endpoint, due_at LIMIT 1`,
  )
  // After the last of all ids: where a list without a cursor begins.
  const end = '\u{10ffff}'
  return {
    async endpoint(owner, id) {
      return readable(one.all(id), toEndpoint).find((found) => found.owner === owner)
    },
    endpoints: async (owner, { after = end, limit }) => readable(list.all(owner, after, limit), toEndpoint),
    async dueEndpoints(now) {
      const due: { id: string; dueAt: number }[] = []
      let next: number | null = null
      for (let row = nextWaiting.get(''); row; row = nextWaiting.get(String(row.endpoint))) {
        const dueAt = Number(row.due_at)
        if (dueAt <= now) due.push({ id: String(row.endpoint), dueAt })
        else next = Math.min(next ?? dueAt, dueAt)
      }
      due.sort((a, b) => a.dueAt - b.dueAt)
      return { endpoints: due.flatMap(({ id }) => readable(one.all(id), toEndpoint)), next }
    },
  }
}
