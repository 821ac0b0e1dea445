export { openPostgres } from './postgres.ts'
export { openSqlite } from './sqlite.ts'
