import { readable } from '../../core/row.ts'
import type { Endpoint } from '../../core/webhook.ts'
import { endpointColumns, fromEndpoint, toEndpoint } from '../../core/webhook-row.ts'
import type { Store } from '../store.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { endpointLock } from './migrate.ts'

type Endpoints = Pick<Store, 'endpoints' | 'endpoint' | 'insertEndpoint' | 'updateEndpoint' | 'deleteEndpoint'> &
  Pick<Store, 'disableEndpoint' | 'dueEndpoints'>

const all = endpointColumns.join(', ')
/** After the last of all ids: where a list without a cursor begins. */
const end = '\u{10ffff}'

/** Where clients want to be told. */
export function openEndpoints(database: Database): Endpoints {
  return {
    async endpoints(owner, { after = end, limit }) {
      const text = `SELECT ${all} FROM endpoints WHERE owner = $1 AND id < $2 ORDER BY id DESC LIMIT $3`
      return readable(await database.read(text, [owner, after, limit]), toEndpoint)
    },
    async endpoint(owner, id) {
      return readable(await database.read(oneStatement, [id, owner]), toEndpoint)[0]
    },
    insertEndpoint: (made, most) => insert(database, { made, most }),
    updateEndpoint: (owner, id, change) =>
      database.write(async (query) => {
        const [was] = await query(`${oneStatement} FOR NO KEY UPDATE`, [id, owner])
        if (!was) return undefined
        const endpoint = { ...toEndpoint(was), ...change }
        await query(updateStatement, [JSON.stringify([fromEndpoint(endpoint)])])
        return endpoint
      }),
    async deleteEndpoint(owner, id) {
      const text = 'DELETE FROM endpoints WHERE id = $1 AND owner = $2 RETURNING id'
      return (await database.run(text, [id, owner])).length === 1
    },
    async disableEndpoint(id, at, why) {
      const text = 'UPDATE endpoints SET disabled_at = $2, disabled_why = $3 WHERE id = $1 AND disabled_at IS NULL'
      await database.run(text, [id, at, why])
    },
    async dueEndpoints(now) {
      const rows = await database.read(waitingStatement, [now])
      const [isDue, isLater] = [rows.filter(({ id }) => id !== null), rows.find(({ id }) => id === null)]
      return { endpoints: readable(isDue, toEndpoint), next: (isLater?.first_due as number | undefined) ?? null }
    },
  }
}

interface Insert {
  made: Endpoint
  most: number
  isAgain?: boolean
}

/** One at a time, so that the count holds. A COMMIT of which nobody heard is repeated: the id tells that it is there. */
async function insert(database: Database, { made, most, isAgain = false }: Insert): Promise<boolean> {
  try {
    return await database.write(async (query) => {
      await query('SELECT pg_advisory_xact_lock($1)', [endpointLock])
      const values = [JSON.stringify([fromEndpoint(made)]), made.owner, made.id, most]
      return (await query(insertStatement, values)).length === 1
    })
  } catch (error) {
    if (!(error instanceof CommitUnknown) || isAgain) throw error
    return insert(database, { made, most, isAgain: true })
  }
}

const insertStatement = `INSERT INTO endpoints (${all})
  SELECT ${all} FROM json_populate_recordset(NULL::endpoints, $1)
  WHERE (SELECT count(*) FROM endpoints WHERE owner = $2 AND id <> $3) < $4
  ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id`

const oneStatement = `SELECT ${all} FROM endpoints WHERE id = $1 AND owner = $2`

const fixed = ['id', 'owner', 'created_at']
const changeable = endpointColumns.filter((name) => !fixed.includes(name))
const updateStatement = `UPDATE endpoints SET ${changeable.map((name) => `${name} = made.${name}`).join(', ')}
  FROM json_populate_recordset(NULL::endpoints, $1) AS made WHERE endpoints.id = made.id`

/**
 * From one to the next in the index. Those that are due come with all that is needed to send; of the others, only when
 * the first of them is.
 */
const waitingStatement = `WITH RECURSIVE waiting AS (
    (SELECT endpoint, due_at FROM deliveries WHERE state = 'pending' ORDER BY endpoint, due_at LIMIT 1)
    UNION ALL
    SELECT next.* FROM waiting, LATERAL (
      SELECT endpoint, due_at FROM deliveries WHERE state = 'pending' AND deliveries.endpoint > waiting.endpoint
      ORDER BY endpoint, due_at LIMIT 1
    ) AS next
  )
  SELECT ${endpointColumns.map((name) => `endpoints.${name}`).join(', ')}, waiting.due_at AS first_due
  FROM waiting JOIN endpoints ON endpoints.id = waiting.endpoint WHERE waiting.due_at <= ${due('$1')}
  UNION ALL
  SELECT ${endpointColumns.map(() => 'NULL').join(', ')}, min(due_at) FROM waiting WHERE due_at > ${due('$1')}
  ORDER BY first_due`
