import { type PostgresServer, startPostgres } from './postgres.ts'
import { startS3, type TestS3 } from './s3.ts'

/** A database and a bucket that processes share. */
export interface Places extends AsyncDisposable {
  readonly postgres: PostgresServer
  readonly s3: TestS3
  /** The settings that a process of that role needs to find them. */
  settings(role: string, store?: string): Record<string, string>
}

/** The same in every process. */
const secretKey = Buffer.alloc(32, 7).toString('base64')

export async function startPlaces(options?: Parameters<typeof startPostgres>[0]): Promise<Places> {
  const postgres = await startPostgres(options)
  const s3 = await startS3()
  // Amazon's tools read them from here, and so does every process that is started from this one.
  process.env.AWS_ACCESS_KEY_ID = s3.credentials.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = s3.credentials.secretAccessKey
  return {
    postgres,
    s3,
    settings: (role, store = postgres.url) => ({
      FILMGATE_STORE: store,
      FILMGATE_ROLE: role,
      FILMGATE_SECRET_KEY: secretKey,
      FILMGATE_BUCKET: `s3://${s3.bucket}/films?endpoint=${encodeURIComponent(s3.endpoint)}&path_style=true`,
    }),
    async [Symbol.asyncDispose]() {
      await postgres[Symbol.asyncDispose]()
      await s3[Symbol.asyncDispose]()
    },
  }
}
