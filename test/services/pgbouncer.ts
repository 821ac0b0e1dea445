import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../free-port.ts'

const program = '/usr/sbin/pgbouncer'

/** Debian's PgBouncer before a server on the loopback, in transaction mode. */
export async function startPgBouncer(target: number): Promise<{ url: string } & AsyncDisposable> {
  if (!existsSync(program)) throw new Error('PgBouncer is not installed: apt-get install pgbouncer')
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-pgbouncer-'))
  const port = await freePort()
  writeFileSync(join(folder, 'users'), '"filmgate" ""\n')
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${target}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'auth_type = trust',
    `auth_file = ${join(folder, 'users')}`,
    'unix_socket_dir =',
    // So few that clients share connections.
    'pool_mode = transaction',
    'default_pool_size = 4',
    'max_client_conn = 200',
  ]
  writeFileSync(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
  // Explicit, because a service in this process sets a strict umask.
  chmodSync(folder, 0o755)
  for (const name of ['users', 'pgbouncer.ini']) chmodSync(join(folder, name), 0o644)
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  const server = spawn(program, [join(folder, 'pgbouncer.ini')], { ...user, cwd: folder, stdio: 'ignore' })
  process.once('exit', () => server.kill('SIGKILL'))
  while (!(await answers(port))) {
    if (server.exitCode !== null) throw new Error(`PgBouncer ended with ${server.exitCode}`)
    await pause(50)
  }
  return {
    url: `postgres://filmgate@127.0.0.1:${port}/postgres`,
    async [Symbol.asyncDispose]() {
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
}
