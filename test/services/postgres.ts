import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'

/** A PostgreSQL server of its own, of Debian's package, on a free port of the loopback and an empty cluster. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** Where its programs are. */
  readonly bin: string
  stop(how?: 'SIGINT' | 'SIGQUIT'): Promise<void>
  start(): Promise<void>
}

const versions = '/usr/lib/postgresql'

export async function startPostgres(settings: Record<string, string> = {}): Promise<PostgresServer> {
  const [version] = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : []
  if (!version) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  const bin = join(versions, version, 'bin')
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-postgres-'))
  const port = await freePort()
  // The server refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? { uid: idOf('postgres', '-u'), gid: idOf('postgres', '-g') } : {}
  if (isRoot) execFileSync('chown', ['postgres', folder])
  const data = join(folder, 'data')
  const auth = ['--username', 'filmgate', '--auth', 'trust', '--no-sync', '--encoding', 'UTF8', '--locale', 'C.UTF-8']
  execFileSync(join(bin, 'initdb'), ['--pgdata', data, ...auth], { ...user, cwd: folder, stdio: 'ignore' })
  const options = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: folder, ...settings }
  const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let server: ReturnType<typeof spawn> | undefined
  // Also when the test dies before it can stop it.
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
  const stop = async (how: 'SIGINT' | 'SIGQUIT' = 'SIGINT') => {
    if (!server || server.exitCode !== null) return
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
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function idOf(user: string, flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
}
