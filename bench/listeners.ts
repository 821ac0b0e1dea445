import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { cpuSeconds } from './cpu.ts'
import type { ClientAnswer, ClientOrder, ListenMode } from './listening-clients.ts'
import type { ServerAnswer, ServerOrder } from './listening-server.ts'
import { type Line, middle, quantile } from './measure.ts'
import { residentMb } from './processes.ts'

interface ListenersBench {
  /** How many listen at once. */
  clients: number
  rounds: number
  /** How many tasks end in each round. */
  changes: number
  /** How long they listen while nothing changes. */
  idleSeconds: number
}

const clientProcesses = 2
/** The time between two changes. */
const everyMs = 10

/** What listening clients cost the service, and how soon they are notified of a change. */
export async function benchListeners(folder: string, bench: ListenersBench): Promise<Line[]> {
  const lines: Line[] = []
  for (const mode of ['stream', 'wait'] as const) lines.push(...(await benchMode(mode, join(folder, mode), bench)))
  return lines
}

async function benchMode(mode: ListenMode, folder: string, bench: ListenersBench): Promise<Line[]> {
  const { clients, rounds, changes, idleSeconds } = bench
  await using server = startChild<ServerOrder, ServerAnswer>('./listening-server.ts')
  server.send({ folder, tasks: clients })
  const { port, ids } = (await server.next()) as Extract<ServerAnswer, { port: number }>
  const alone = residentMb(server.pid)
  const notified = new Map<string, number>()
  await using _clients = await startClients({ port, ids, mode }, notified)
  // The last requests may still be on their way.
  await pause(2_000)
  const from = cpuSeconds(server.pid)
  await pause(idleSeconds * 1_000)
  const busy = ((cpuSeconds(server.pid) - from) / idleSeconds) * 100
  const resident = residentMb(server.pid)

  const latencies: number[][] = []
  for (let round = 0; round < rounds; round += 1) {
    server.send({ finish: changes, everyMs })
    const { committed } = (await server.next()) as Extract<ServerAnswer, { committed: unknown }>
    while (committed.some(([id]) => !notified.has(id))) await pause(20)
    latencies.push(committed.map(([id, at]) => (notified.get(id) ?? Number.NaN) - at))
  }
  const name = mode === 'stream' ? 'streams' : 'waiting'
  const load = `${clients} ${mode === 'stream' ? 'streams of one video each' : 'clients with ?wait=60'}`
  const delay = (share: number) => middle(latencies.map((all) => quantile(all, share)))
  const how = `from the commit to the client, ${rounds} × ${changes} changes, one each ${everyMs} ms`
  const each = `${Math.round(((resident - alone) * 1024) / clients)} KiB for each`
  return [
    { name: `${name}, memory`, unit: ' MB', ...middle([resident]), detail: `resident with ${load}; ${each}` },
    { name: `${name}, CPU`, unit: ' %', ...middle([busy]), detail: `of a core, ${load}, while nothing changes` },
    { name: `${name}, notified p50`, unit: ' ms', ...delay(0.5), detail: `${load}; ${how}` },
    { name: `${name}, notified p99`, unit: ' ms', ...delay(0.99), detail: `${load}; ${how}` },
  ]
}

/** Clients in processes of their own. Resolves when all of them listen. `notified` gets the time for each. */
async function startClients({ port, ids, mode }: ClientOrder, notified: Map<string, number>) {
  const share = Math.ceil(ids.length / clientProcesses)
  const processes = Array.from({ length: clientProcesses }, (_, at) => {
    const child = startChild<ClientOrder, ClientAnswer>('./listening-clients.ts')
    child.send({ port, ids: ids.slice(at * share, (at + 1) * share), mode })
    return child
  })
  await Promise.all(processes.map((child) => child.next()))
  for (const child of processes)
    child.onMessage((answer) => {
      if (answer !== 'listening') notified.set(answer.id, answer.at)
    })
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((child) => child[Symbol.asyncDispose]()))
    },
  }
}

function startChild<Order extends object, Answer>(file: string) {
  const child: ChildProcess = fork(new URL(file, import.meta.url))
  return {
    pid: child.pid ?? 0,
    send: (order: Order) => void child.send(order),
    next: async () => (await once(child, 'message'))[0] as Answer,
    onMessage: (listener: (answer: Answer) => void) => void child.on('message', listener),
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
