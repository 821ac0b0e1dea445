import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port that nobody has at the moment, for a program that can't choose one itself. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (typeof address !== 'object' || !address) throw new Error('no port is free')
  return address.port
}
