import { setTimeout as pause } from 'node:timers/promises'
import { leaseMs } from '../../src/core/timing.ts'
import type { TcpProxy } from '../services/tcp-proxy.ts'
import { lastLine, type Member } from './fleet-member.ts'
import type { Kill } from './kill-judge.ts'

export interface Chaos {
  members: readonly Member[]
  chance: () => number
  /** Every disturbance of any process. */
  disturbances: Kill[]
  violations: string[]
  /** All processes reach the database through it. */
  proxy: TcpProxy
  counts: Record<'kills' | 'pauses' | 'longPauses' | 'stops' | 'cuts', number>
}

/** The promised limit of a drain, with some time for a busy machine. */
const longestDrainMs = 45_000

/** Disturbs processes at random, several at a time, and returns once all of them are up again. */
export async function disturb(chaos: Chaos, count: number, onEach: (done: number) => void): Promise<void> {
  const { chance, members } = chaos
  const underWay = new Set<Promise<void>>()
  for (let done = 0; done < count; ) {
    const [kind, which, moment] = [chance(), chance(), chance()]
    const act = kind < 0.35 ? kill : kind < 0.7 ? freeze : kind < 0.85 ? restart : breakOff
    // A kill may come at any moment: in a start, in a drain, in a pause.
    const able = act === kill ? members : members.filter(({ busy, url }) => !busy && url)
    const member = able[Math.floor(which * able.length)]
    if (member) {
      const disturbance = act(chaos, member)
      underWay.add(disturbance)
      void disturbance.finally(() => underWay.delete(disturbance))
      done += 1
      onEach(done)
    }
    await pause(moment * moment * 2_500)
  }
  await Promise.all(underWay)
  for (const member of members) while (!member.url) await pause(100)
}

async function kill(chaos: Chaos, member: Member): Promise<void> {
  chaos.counts.kills += 1
  const at = Date.now()
  const { exit } = member
  member.signal('SIGKILL')
  await exit
  chaos.disturbances.push({ at, ended: Date.now() })
  // The code that stopped a process starts it again.
  if (!member.busy) again(member, exit)
}

async function freeze(chaos: Chaos, member: Member): Promise<void> {
  const { chance, counts, disturbances } = chaos
  const long = chance() < 1 / 3
  const ms = long ? leaseMs + 500 + chance() * 4_500 : 200 + chance() * chance() * leaseMs
  counts.pauses += 1
  if (long) counts.longPauses += 1
  const disturbance = { at: Date.now(), ended: Date.now() + ms }
  disturbances.push(disturbance)
  member.busy = true
  const { exit } = member
  member.signal('SIGSTOP')
  const ended = await Promise.race([pause(ms), exit])
  disturbance.ended = Date.now()
  member.busy = false
  if (ended) again(member, exit)
  else member.signal('SIGCONT')
}

async function restart(chaos: Chaos, member: Member): Promise<void> {
  chaos.counts.stops += 1
  member.busy = true
  const at = Date.now()
  const { exit } = member
  member.signal('SIGTERM')
  const late = AbortSignal.timeout(longestDrainMs)
  const isLate = new Promise<undefined>((resolve) => late.addEventListener('abort', () => resolve(undefined)))
  const ended = await Promise.race([exit, isLate])
  if (!ended) {
    chaos.violations.push(`${member.name} did not end on SIGTERM: ${lastLine(member.log)}`)
    member.signal('SIGKILL')
    await exit
  } else if (ended.code !== 0 && ended.signal !== 'SIGKILL')
    chaos.violations.push(`${member.name} ended with ${ended.code} on SIGTERM: ${lastLine(member.log)}`)
  chaos.disturbances.push({ at, ended: Date.now() })
  member.busy = false
  again(member, exit)
}

/** The database runs, but all connections to it break, some after they hung for a while. */
async function breakOff({ chance, counts, disturbances, proxy }: Chaos): Promise<void> {
  counts.cuts += 1
  const at = Date.now()
  const ms = chance() < 0.5 ? 0 : chance() * 3_000
  if (ms > 0) proxy.hang()
  await pause(ms)
  proxy.cut()
  proxy.goOn()
  disturbances.push({ at, ended: Date.now() })
}

/** Unless it was already started again. */
function again(member: Member, life: Member['exit']): void {
  if (member.exit === life) member.start()
}
