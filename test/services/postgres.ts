import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../free-port.ts'

/** A PostgreSQL server from Debian's package, with an empty cluster, on a free port of the loopback. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** The folder of its programs. */
  readonly bin: string
  stop(how?: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  start(): Promise<void>
}

type Settings = Record<string, string>

const versions = '/usr/lib/postgresql'

/** `disk`: a folder for its data, or for its log alone. By default a temporary one is created. */
export async function startPostgres(
  settings: Settings = {},
  disk?: { for: 'data' | 'log'; folder: string },
): Promise<PostgresServer> {
  const place = findPlace(disk?.for === 'data' ? disk.folder : undefined)
  const log = disk?.for === 'log' ? join(disk.folder, 'log') : undefined
  if (log) execFileSync('install', ['-d', '-m', '700', ...(place.user.uid ? ['-o', 'postgres'] : []), log])
  const auth = ['--username', 'filmgate', '--auth', 'trust', '--no-sync', '--encoding', 'UTF8', '--locale', 'C.UTF-8']
  await place.run('initdb', ['--pgdata', place.data, ...auth, ...(log ? ['--waldir', log] : [])])
  return serve(place, settings)
}

/** A hot standby of the server at that port, which may be a proxy. It stays a standby until it is promoted. */
export async function startStandby(primary: { port: number }, settings: Settings = {}): Promise<PostgresServer> {
  const place = findPlace()
  const source = ['--host', '127.0.0.1', '--port', String(primary.port), '--username', 'filmgate']
  const how = ['--write-recovery-conf', '--checkpoint', 'fast', '--no-sync']
  await place.run('pg_basebackup', ['--pgdata', place.data, ...source, ...how])
  return serve(place, settings)
}

interface Place {
  folder: string
  /** Created for this server, and removed with it. */
  temporary: boolean
  data: string
  bin: string
  /** The server refuses to run as root. */
  user: { uid?: number; gid?: number }
  /** Not synchronous: its traffic may go through a proxy in this process. */
  run(program: string, args: string[]): Promise<unknown>
}

function findPlace(given?: string): Place {
  const [version] = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : []
  if (!version) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  const bin = join(versions, version, 'bin')
  const folder = given ?? mkdtempSync(join(tmpdir(), 'filmgate-postgres-'))
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? { uid: idOf('postgres', '-u'), gid: idOf('postgres', '-g') } : {}
  if (isRoot) execFileSync('chown', ['postgres', folder])
  const run: Place['run'] = (program, args) => promisify(execFile)(join(bin, program), args, { ...user, cwd: folder })
  return { folder, temporary: given === undefined, data: join(folder, 'data'), bin, user, run }
}

async function serve({ folder, temporary, data, bin, user }: Place, settings: Settings): Promise<PostgresServer> {
  const port = await freePort()
  const options = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: folder, ...settings }
  const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let server: ReturnType<typeof spawn> | undefined
  // Also if the test dies before it can stop the server.
  process.once('exit', () => server?.kill('SIGQUIT'))

  const start = async () => {
    server = spawn(join(bin, 'postgres'), ['-D', data, ...args], { ...user, cwd: folder, stdio: 'ignore' })
    const isReady = () => {
      try {
        execFileSync(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port), '-q'])
        return true
      } catch {
        return false
      }
    }
    while (!isReady()) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const stop: PostgresServer['stop'] = async (how = 'SIGINT') => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill(how)
    await ended
  }
  await start()
  return {
    port,
    bin,
    url: `postgres://filmgate@127.0.0.1:${port}/postgres`,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop('SIGQUIT')
      rmSync(temporary ? folder : data, { recursive: true, force: true })
    },
  }
}

function idOf(user: string, flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
}
