import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { parseArgs } from 'node:util'
import { Jobs, type Mode, modes } from './upstream/jobs.ts'
import { jobsWire } from './upstream/jobs-wire.ts'
import { type Orders, Plan } from './upstream/plan.ts'
import { handle, type Ledger, note, type World } from './upstream/routes.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import type { Wire } from './upstream/wire.ts'

export { downloadFaults, type Fault, findFaults, pollFaults, submitFaults } from './upstream/faults.ts'
export type { Accept, Mode } from './upstream/jobs.ts'
export { type Mark, markOf, withoutMark } from './upstream/marks.ts'
export type { NextFault, Orders, Settings } from './upstream/plan.ts'
export type { Arrival, Ledger } from './upstream/routes.ts'

export interface UpstreamOptions extends Orders {
  port?: number
  /** The provider that it simulates; the default is the plain API of README.md. */
  wire?: Wire
  mode?: Mode
  /** The path of the film that every job returns. */
  film?: string
}

const host = '127.0.0.1'

/** A simulated video provider that misbehaves on demand. Its ledger has what it accepted, whatever it answered. */
export interface Upstream extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The origin of the films. */
  readonly films: string
  /** The current seed. */
  readonly seed: number
  /** The current ledger, like `GET /ledger`. */
  ledger(): Ledger
  /** Like `POST /faults`. Throws a RangeError and changes nothing if the orders are not valid. */
  setFaults(orders: Orders): void
}

export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const { port = 0, mode = 'none', wire = jobsWire(mode), film, ...orders } = options
  const timers = new Set<NodeJS.Timeout>()
  const world: World = {
    wire,
    jobs: new Jobs(wire.mode, wire.newId),
    plan: new Plan(),
    film: film === undefined ? tinyFilm : readFileSync(film),
    log: { requests: 0, submits: 0, faults: [], arrivals: [] },
    origin: '',
    films: '',
    later: (ms, action) => timers.add(setTimeout(action, ms)),
    refuse: () => refuse(server, films, world),
    setFaults(orders) {
      world.plan.set(orders)
      refuseIfFirst(server, films, world)
    },
  }
  const server = createServer((request, response) => {
    // A client must not get around a refusal by an older connection.
    if (!server.listening) return request.socket.destroy()
    void handle(world, request, response).then(() => refuseIfFirst(server, films, world))
  })
  const films = createServer((request, response) => void handle(world, request, response))
  await Promise.all([
    once(server.listen(port, host), 'listening'),
    once(films.listen(port === 0 || !wire.filmsApart ? 0 : port + 1, host), 'listening'),
  ])
  world.origin = originOf(server)
  world.films = wire.filmsApart ? originOf(films) : world.origin
  world.setFaults(orders)
  return {
    url: world.origin,
    port: Number(new URL(world.origin).port),
    films: world.films,
    get seed() {
      return world.plan.seed
    },
    ledger: () => structuredClone({ accepts: world.jobs.accepts, ...world.log }),
    setFaults: world.setFaults,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer)
      for (const each of [server, films]) {
        each.closeAllConnections()
        if (each.listening) await once(each.close(), 'close')
      }
    },
  }
}

function originOf(server: Server): string {
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

/** A refused connection has no request that could start it, so it starts when it is first in line. */
function refuseIfFirst(server: Server, films: Server, world: World): void {
  const fault = server.listening ? world.plan.takeFirst('refuses') : undefined
  if (fault === undefined) return
  note(world, fault, null, null)
  refuse(server, films, world)
}

function refuse(server: Server, films: Server, world: World): void {
  if (!server.listening) return
  const { port } = server.address() as AddressInfo
  server.close()
  // A connection from the port keeps other processes from getting it meanwhile.
  const filmsPort = (films.address() as AddressInfo).port
  const hold = connect({ port: filmsPort, host, localPort: port, localAddress: host }).on('error', () => {})
  world.later(world.plan.settings.refuseMs, () => {
    server.listen(port, host, () => {
      hold.destroy()
      refuseIfFirst(server, films, world)
    })
  })
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      mode: { type: 'string', default: 'none' },
      film: { type: 'string' },
      orders: { type: 'string', default: '{}' },
    },
  })
  const mode = modes.find((name) => name === values.mode)
  if (mode === undefined) throw new Error(`--mode must be one of ${modes.join(', ')}`)
  const { port, url, seed } = await startUpstream({
    ...(JSON.parse(values.orders) as Orders),
    port: Number(values.port),
    mode,
    ...(values.film === undefined ? {} : { film: values.film }),
  })
  process.stdout.write(`${JSON.stringify({ port, url, mode, seed })}\n`)
}
