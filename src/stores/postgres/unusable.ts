/** Why a database can't be used at all, and what to do about it, on one line. */
export function explain(thrown: Error): string {
  const { cause } = thrown
  const error: Error & { code?: string } = cause instanceof Error ? cause : thrown
  // The message of the driver is about types.
  if (/^SASL.*password must be/.test(error.message))
    return 'it requires a password; give one in its URL, or as PGPASSWORD'
  // If a name has several addresses and all fail, the error has no message.
  const reason = error.message || error.code || 'no reason given'
  const fix = fixOf(error.code, reason)
  return `${reason.replace(/\s+/g, ' ')}${fix === undefined ? '' : `; ${fix}`}`
}

/** Errors of the driver have no code. Neither have ours, whose messages say what to do. */
function fixOf(code: string | undefined, reason: string): string | undefined {
  // PgBouncer says no more than this.
  if (/^SASL authentication failed/.test(reason)) return `${fixes['28P01']}, and the log of the pooler`
  if (/does not support SSL/.test(reason)) return 'enable TLS on the database, or remove sslmode from its URL'
  if (code === undefined) return /timeout|terminated/i.test(reason) ? address : undefined
  return fixes[code as keyof typeof fixes] ?? (isCertificate.test(code) ? certificate : log)
}

const address = 'check the host and the port in its URL, and that the database is running'
const name = 'check the host in its URL'

/** By SQLSTATE, or by the code of the system. */
const fixes = {
  '28000': 'check the user in its URL, and that pg_hba.conf allows it from this address',
  '28P01': 'check the user and the password, in its URL or as PGPASSWORD',
  '3D000': 'create the database, or check the name at the end of its URL',
  '42501':
    'allow its user to create tables: GRANT USAGE, CREATE ON SCHEMA public TO the user, and make it the owner of the tables',
  '42P07': 'the database has tables that Filmgate did not create: use an empty database',
  '3F000':
    "create the schema that the user's search_path names, or allow the user to use it: GRANT USAGE, CREATE ON SCHEMA",
  '25006': 'it is read-only, and its schema must be upgraded first: use the URL of the primary, or make it writable',
  53100: 'its disk is full, and its schema must be upgraded first: free some space',
  '53300': "too many connections: raise the database's max_connections, or start fewer processes",
  '57P03': 'it is starting or stopping: try again shortly',
  ECONNREFUSED: address,
  ETIMEDOUT: address,
  EHOSTUNREACH: address,
  ENOTFOUND: name,
  EAI_AGAIN: name,
  ERR_SOCKET_BAD_PORT: 'give its port in the URL: host:5432',
  ENOENT: 'check the files that sslcert, sslkey and sslrootcert name',
  EACCES: 'allow this user to read the files that sslcert, sslkey and sslrootcert name',
} as const

const isCertificate = /CERT|SELF_SIGNED|ALTNAME|ISSUER|UNABLE_TO_VERIFY/
const certificate = 'give the CA of its certificate as sslrootcert=, or use sslmode=no-verify'
const log = 'check its URL, and the log of the database'
