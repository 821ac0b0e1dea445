export { openPostgresTransfer } from './postgres/transfer.ts'
export { openPostgres } from './postgres.ts'
export { openSqliteTransfer } from './sqlite/transfer.ts'
export { openSqlite } from './sqlite.ts'
