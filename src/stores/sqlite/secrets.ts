import type { DatabaseSync } from 'node:sqlite'
import type { SecretColumn } from '../../core/vault.ts'
import type { Store, StoredSecret } from '../store.ts'

/** Secrets of all rows; runs in the writer thread, inside its transaction. Only a start writes them this way. */
export function prepareSecrets(database: DatabaseSync) {
  return {
    replaceSecret({ table, row, column }: SecretColumn, { id, text: was }: StoredSecret, text: string): boolean {
      const statement = `UPDATE ${table} SET ${column} = ? WHERE ${row} = ? AND ${column} = ?`
      // What the page no longer needs is overwritten: it may be a secret in clear, of an earlier version.
      const usual = database.prepare('PRAGMA secure_delete').get()?.secure_delete
      database.exec('PRAGMA secure_delete = ON')
      try {
        return database.prepare(statement).run(text, id, was).changes === 1
      } finally {
        database.exec(`PRAGMA secure_delete = ${Number(usual)}`)
      }
    },
  }
}

/** Reads; runs on the main thread. */
export function prepareSecretReads(reader: DatabaseSync): Pick<Store, 'otherSecrets'> {
  return {
    async otherSecrets({ table, row, column }, prefix, { after, limit }) {
      const statement = reader.prepare(
        `SELECT ${row} AS id, ${column} AS text FROM ${table}
         WHERE ${row} > ?1 AND substr(${column}, 1, length(?2)) <> ?2 ORDER BY ${row} LIMIT ?3`,
      )
      return statement.all(after, prefix, limit).map(({ id, text }) => ({ id: String(id), text: String(text) }))
    },
  }
}
