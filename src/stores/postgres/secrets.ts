import type { SecretStore } from '../store.ts'
import type { Database } from './database.ts'

/** Secrets of all rows. Only a start reads and writes them this way. */
export function openSecrets(database: Database): SecretStore {
  return {
    async otherSecrets({ table, row, column }, prefix, { after, limit }) {
      const rows = await database.read(
        `SELECT ${row} AS id, ${column} AS text FROM ${table}
         WHERE ${row} > $1 AND left(${column}, length($2::text)) <> $2::text ORDER BY ${row} LIMIT $3`,
        [after, prefix, limit],
      )
      return rows.map(({ id, text }) => ({ id: String(id), text: String(text) }))
    },
    async replaceSecret({ table, row, column }, { id, text: was }, text) {
      const statement = `UPDATE ${table} SET ${column} = $1 WHERE ${row} = $2 AND ${column} = $3 RETURNING ${row}`
      return (await database.run(statement, [text, id, was])).length === 1
    },
  }
}
