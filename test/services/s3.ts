import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { freePort } from '../free-port.ts'

/** Checks signatures, checksums and conditions, and honours `If-None-Match` in a race, as few others do. */
const version = 'v1.8.0'
const cache = join(import.meta.dirname, '../../node_modules/.cache/filmgate-services')

export interface TestS3 extends AsyncDisposable {
  endpoint: string
  bucket: string
  credentials: { accessKeyId: string; secretAccessKey: string }
}

/** A real S3 server (Versity's gateway over a temporary folder) with one empty bucket, on a free port. */
export async function startS3(): Promise<TestS3> {
  const program = await findProgram()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-s3-'))
  const [objects, notes] = [join(folder, 'objects'), join(folder, 'notes')]
  for (const path of [objects, notes]) mkdirSync(path)
  const address = `127.0.0.1:${await freePort()}`
  const credentials = { accessKeyId: 'filmgate-test', secretAccessKey: 'a secret of the test' }
  const keys = ['--access', credentials.accessKeyId, '--secret', credentials.secretAccessKey]
  // Beside the objects: not every file system keeps attributes.
  const server = spawn(program, ['--quiet', '--port', address, ...keys, 'posix', '--sidecar', notes, objects], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  // Also if the test dies before it can stop the server.
  const kill = () => server.kill('SIGKILL')
  process.once('exit', kill)
  const endpoint = `http://${address}`
  const bucket = 'films'
  await makeBucket(server, new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true }), bucket)
  return {
    endpoint,
    bucket,
    credentials,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill)
      if (kill()) await once(server, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}

/** The server's program, built once with Go: `npm test` needs neither. */
async function findProgram(): Promise<string> {
  const program = join(cache, `versitygw-${version}`)
  if (existsSync(program)) return program
  mkdirSync(cache, { recursive: true })
  const building = mkdtempSync(join(cache, 'building-'))
  try {
    const wanted = `github.com/versity/versitygw/cmd/versitygw@${version}`
    const env = { ...process.env, GOBIN: building, GOFLAGS: '-buildvcs=false' }
    await promisify(execFile)('go', ['install', wanted], { env, timeout: 900_000 })
    renameSync(join(building, 'versitygw'), program)
  } finally {
    rmSync(building, { recursive: true })
  }
  return program
}

async function makeBucket(server: ChildProcess, client: S3Client, bucket: string): Promise<void> {
  for (let tries = 100; ; tries--) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: bucket }))
      return client.destroy()
    } catch (error) {
      if (tries === 0 || server.exitCode !== null) throw error
      await setTimeout(100)
    }
  }
}
