import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../services/postgres.ts'
import { startS3 } from '../services/s3.ts'
import { startTcpProxy } from '../services/tcp-proxy.ts'
import { type Chaos, disturb } from './fleet-chaos.ts'
import { startClients } from './fleet-clients.ts'
import { Member } from './fleet-member.ts'
import { type Settling, settle } from './fleet-settle.ts'
import { newClientRecord } from './kill-clients.ts'
import { type Judgement, judgeKills, strandedPerKill } from './kill-judge.ts'
import { seeded } from './seeded.ts'
import { startTargets, yamlOf } from './targets.ts'

/*
 * Six real processes, three in the role `api` and three in the role `worker`, on one PostgreSQL and one S3 server, before
 * real upstreams. They are killed, stopped for a while, replaced and cut off the database at random, while clients submit
 * and read. In the end the ledgers of the upstreams are compared with the rows. A seed repeats faults and orders, but not
 * the exact times.
 */
export interface FleetOptions {
  disturbances: number
  seed: number
  print?: (line: string) => void
}

export interface FleetCounts extends Judgement {
  seed: number
  disturbances: number
  kills: number
  strandedPerKill: number
  /** SIGSTOPs, and those of them that outlast a lease. */
  pauses: number
  longPauses: number
  /** SIGTERMs. */
  stops: number
  /** Of all connections to the database. */
  cuts: number
  /** Tasks that clients know, and submits that promised nothing. */
  known: number
  unanswered: number
  /** Lines of the logs that are errors, by event. */
  errors: Record<string, number>
}

const each = 3

export async function runFleet({ disturbances, seed, print = () => {} }: FleetOptions): Promise<FleetCounts> {
  await using stack = new AsyncDisposableStack()
  const world = await openWorld(seed, stack)
  const { members, upstreams, counts, violations } = world
  await Promise.all(members.map(({ ready }) => ready))
  print(`${members.length} processes are up`)
  const clients = startClients(world)
  await disturb(world, disturbances, (done) => {
    if (done % 10 === 0) print(`${done} disturbances, ${world.known.size} tasks, ${violations.length} violations`)
  })
  await clients.stop()
  for (const upstream of upstreams.values()) upstream.setFaults({ rates: {} })
  print('settling')
  const tasks = await settle(world)
  const ledgers = new Map([...upstreams].map(([name, upstream]) => [name, upstream.ledger()]))
  const judgement = judgeKills({ tasks, ledgers, kills: world.disturbances, marks: world.marks })
  const { violations: stranded, ...ratio } = strandedPerKill(judgement, counts.kills)
  await stopAll(world)
  const { errors, odd } = readLogs(members)
  const failures = members.flatMap((member) => member.failures)
  return {
    seed,
    disturbances,
    ...counts,
    known: world.known.size,
    unanswered: world.unanswered,
    errors,
    ...judgement,
    ...ratio,
    violations: [...violations, ...failures, ...odd, ...judgement.violations, ...stranded],
  }
}

type World = Settling & Chaos

async function openWorld(seed: number, stack: AsyncDisposableStack): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-fleet-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const postgres = stack.use(await startPostgres({ fsync: 'off' }))
  const proxy = stack.use(await startTcpProxy(postgres.port))
  const s3 = stack.use(await startS3())
  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  stack.defer(() => database.end())
  const upstreams = await startTargets(seed, stack)
  const config = join(folder, 'filmgate.yaml')
  writeFileSync(config, yamlOf(upstreams))
  const env = {
    FILMGATE_CONFIG: config,
    FILMGATE_STORE: postgres.url.replace(String(postgres.port), String(proxy.port)),
    FILMGATE_BUCKET: `s3://${s3.bucket}/films?endpoint=${encodeURIComponent(s3.endpoint)}&path_style=true`,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  }
  const members = (['api', 'worker'] as const).flatMap((role) =>
    Array.from({ length: each }, (_, at) => new Member(`${role}-${at + 1}`, role, folder, env)),
  )
  stack.defer(() => endAll(members))
  for (const member of members) member.start()
  return {
    ...newClientRecord(seed),
    chance: seeded(seed),
    luck: seeded(seed + 1),
    members,
    upstreams,
    database,
    proxy,
    store: postgres.url,
    unanswered: 0,
    disturbances: [],
    counts: { kills: 0, pauses: 0, longPauses: 0, stops: 0, cuts: 0 },
  }
}

async function endAll(members: readonly Member[]): Promise<void> {
  for (const member of members) member.signal('SIGKILL')
  await Promise.all(members.map(({ exit }) => exit))
}

async function stopAll({ members, violations }: World): Promise<void> {
  for (const member of members) member.signal('SIGTERM')
  for (const { name, exit } of members) {
    const { code } = await exit
    if (code !== 0) violations.push(`${name} ended with ${code}`)
  }
}

/** Errors that are explained by the lock of a stopped process, or by a timer that ended while it was stopped. */
const explained = new Set(['account paused', 'a decision could not be recorded', 'leases could not be renewed'])

function readLogs(members: readonly Member[]): { errors: Record<string, number>; odd: string[] } {
  const errors: Record<string, number> = {}
  const odd: string[] = []
  for (const { name, log } of members) {
    for (const line of log.split('\n').filter((text) => text.includes('"level":"error"'))) {
      const event = /"event":"([^"]*)"/.exec(line)?.[1] ?? line
      errors[event] = (errors[event] ?? 0) + 1
      const isStorage = line.includes('storage_unavailable') || line.includes('cannot store anything')
      if (!explained.has(event) && !isStorage) odd.push(`an error in the log of ${name}: ${line}`)
    }
  }
  return { errors, odd }
}

if (import.meta.main) {
  const options = { disturbances: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } } as const
  const { values } = parseArgs({ options })
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const begun = Date.now()
  const { violations, ...counts } = await runFleet({
    disturbances: Number(values.disturbances),
    seed: Number(values.seed),
    print,
  })
  print(JSON.stringify({ ...counts, violations: violations.length, seconds: Math.round((Date.now() - begun) / 1000) }))
  for (const violation of violations) print(violation)
  process.exitCode = violations.length > 0 ? 1 : 0
}
