/** Why a database can't be used at all, and what to do about it, on one line. */
export function explain(thrown: Error): string {
  const { cause } = thrown
  const error: Error & { code?: string } = cause instanceof Error ? cause : thrown
  // In the driver's words it is a matter of types.
  if (/^SASL.*password must be/.test(error.message))
    return 'it wants a password, and none was given; give one in its URL, or as PGPASSWORD'
  // Where a name has several addresses, each has failed, and the whole has no words of its own.
  const said = error.message || error.code || 'no reason given'
  const fix = fixOf(error.code, said)
  return `${said.replace(/\s+/g, ' ')}${fix === undefined ? '' : `; ${fix}`}`
}

/** The driver's own failures have no code. Neither have ours, which say what to do themselves. */
function fixOf(code: string | undefined, said: string): string | undefined {
  // The words of PgBouncer, which tells clients no more.
  if (/^SASL authentication failed/.test(said)) return `${fixes['28P01']}, and the log of the pooler`
  if (/does not support SSL/.test(said)) return 'let it speak TLS, or leave sslmode out of its URL'
  if (code === undefined) return /timeout|terminated/i.test(said) ? address : undefined
  return fixes[code as keyof typeof fixes] ?? (isCertificate.test(code) ? certificate : look)
}

const address = 'check the host and the port of its URL, and that it runs'
const name = 'check the host of its URL'

/** By the state of SQL, or the word of the system. */
const fixes = {
  '28000': 'check the user of its URL, and that pg_hba.conf lets it in from here',
  '28P01': 'check the user and the password, in its URL or as PGPASSWORD',
  '3D000': 'create the database, or check the name at the end of its URL',
  '42501':
    'let its user create tables: GRANT USAGE, CREATE ON SCHEMA public TO that user, and make it the owner of the tables',
  '42P07': 'the database has tables that are not of Filmgate: choose an empty one',
  '3F000': "create the schema that the user's search_path names, or let the user use it: GRANT USAGE, CREATE ON SCHEMA",
  '25006':
    'it can only be read, and its schema has to be changed first: let its URL lead to the primary, or make it writable',
  53100: 'its disk is full, and its schema has to be changed first: free some space',
  '53300': "too many connections: raise the database's max_connections, or start fewer processes",
  '57P03': 'it is starting or stopping: try again shortly',
  ECONNREFUSED: address,
  ETIMEDOUT: address,
  EHOSTUNREACH: address,
  ENOTFOUND: name,
  EAI_AGAIN: name,
  ERR_SOCKET_BAD_PORT: 'give its port in the URL: host:5432',
  ENOENT: 'check the files that sslcert, sslkey and sslrootcert name',
  EACCES: 'let this account read the files that sslcert, sslkey and sslrootcert name',
} as const

const isCertificate = /CERT|SELF_SIGNED|ALTNAME|ISSUER|UNABLE_TO_VERIFY/
const certificate = 'name the authority that signed its certificate with sslrootcert=, or use sslmode=no-verify'
const look = "check its URL, and the database's own log"
