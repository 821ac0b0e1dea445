import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A DNS server that never answers, and the way to start a program for which it is the only one. */
export interface SilentNames extends AsyncDisposable {
  /** What the program is started under. */
  readonly under: string[]
}

/** An address of the loopback that nothing else uses. */
const address = '127.53.53.53'
/** In a mount namespace of its own, so that no other process sees the changed file. */
const script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'

/** Says why a duel can't be run on this machine. */
export class NotPermitted extends Error {}

/** Throws NotPermitted where the machine does not permit it. */
export async function openSilentNames(folder: string): Promise<SilentNames> {
  const settings = join(folder, 'resolv.conf')
  writeFileSync(settings, `nameserver ${address}\n`)
  const under = ['unshare', '--map-root-user', '--mount', 'sh', '-c', script, 'sh', settings]
  const [command = '', ...rest] = under
  try {
    execFileSync(command, [...rest, 'true'], { stdio: 'pipe' })
  } catch (cause) {
    throw new NotPermitted('it needs a mount namespace, which this machine does not permit (unshare --mount)', {
      cause,
    })
  }
  const server = createSocket('udp4')
  try {
    // The system's resolver knows no other port.
    server.bind(53, address)
    await once(server, 'listening')
  } catch (cause) {
    throw new NotPermitted(`it needs port 53 of ${address}: run it as root`, { cause })
  }
  return {
    under,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}
