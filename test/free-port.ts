import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port for a program that can't choose one itself. It is outside of the range from which the system chooses ports, so
 * that no connection of another test takes it before the program starts, or while it is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const probe = createServer().listen(port, '127.0.0.1')
    try {
      await once(probe, 'listening')
    } catch {
      continue
    }
    probe.close()
    await once(probe, 'close')
    return port
  }
}
