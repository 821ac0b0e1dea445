import { setTimeout as pause } from 'node:timers/promises'
import type { Member } from './fleet-member.ts'
import { authorizationFor, type ClientRecord, nextSubmit, secrets, statuses } from './kill-clients.ts'
import { type Target, targets } from './targets.ts'

/** Clients of several processes. */
export interface Served extends ClientRecord {
  members: readonly Member[]
  /** Random numbers of the clients, who draw a different number of them in each run. */
  luck: () => number
  /** Submits that promised nothing: without a response, or with a 5xx. */
  unanswered: number
}

const [submitters, readers] = [6, 3]

/** Clients that know several addresses of one service, and an operator who resumes paused accounts. */
export function startClients(served: Served): { stop(): Promise<void> } {
  const stop = new AbortController()
  const { signal } = stop
  const keep = async (act: (url: string) => Promise<void>, everyMs: number) => {
    while (!signal.aborted) {
      const url = anyUrl(served)
      // A killed or stopped process does not respond: then nothing was promised.
      if (url) await act(url).catch(() => {})
      await pause(everyMs * (0.5 + served.luck()), undefined, { signal }).catch(() => {})
    }
  }
  const loops = [
    ...Array.from({ length: submitters }, () => keep((url) => submit(served, url), 800)),
    ...Array.from({ length: readers }, () => keep((url) => readSome(served, url), 300)),
    keep(resumeAccounts, 1_500),
  ]
  return {
    async stop() {
      stop.abort()
      await Promise.all(loops)
    },
  }
}

export function anyUrl({ members, luck }: Pick<Served, 'members' | 'luck'>): string | undefined {
  const urls = members.flatMap(({ role, url }) => (role === 'api' && url ? [url] : []))
  return urls[Math.floor(luck() * urls.length)]
}

/** Some time out early: a stopped process responds when its client is gone. */
function patience({ luck }: Served): AbortSignal {
  return AbortSignal.timeout(luck() < 0.5 ? 3_000 : 30_000)
}

async function submit(served: Served, url: string): Promise<void> {
  const count = [...served.submits.values()].reduce((sum, each) => sum + each, 0)
  const { body, headers, onAccepted } = nextSubmit(served, targets[count % targets.length] as Target)
  served.unanswered += 1
  const answer = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body, signal: patience(served) })
  const text = await answer.text()
  if (answer.status < 500) served.unanswered -= 1
  if (answer.status === 200) onAccepted((JSON.parse(text) as { id: string }).id)
  else if (answer.status !== 503) served.violations.push(`a submit got ${answer.status}: ${text}`)
}

async function readSome(served: Served, url: string): Promise<void> {
  const ids = [...served.known.keys()]
  // Half of the time the newest, which another process may just have accepted.
  const id = served.luck() < 0.5 ? ids.at(-1) : ids[Math.floor(served.luck() * ids.length)]
  if (id) await read(served, url, id)
}

/** Compared with what was known when the request was sent: responses may overtake each other. */
async function read(served: Served, url: string, id: string): Promise<void> {
  const before = served.known.get(id) ?? 'queued'
  const answer = await fetch(`${url}/v1/videos/${id}`, {
    headers: authorizationFor(served, id),
    signal: patience(served),
  })
  const { status = '' } = (await answer.json()) as { status?: string }
  if (answer.status === 503) return
  if (answer.status !== 200) return void served.violations.push(`lost: ${id} gives ${answer.status}`)
  const final = before === 'completed' || before === 'failed'
  if (rank(status) < rank(before) || (final && status !== before))
    served.violations.push(`${id} went from ${before} to ${status}`)
  if (rank(status) > rank(served.known.get(id) ?? 'queued')) served.known.set(id, status)
}

const rank = (status: string) => statuses.indexOf(status)

/** An account whose key was refused pauses for minutes, unless the operator resumes it. */
export async function resumeAccounts(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${secrets.operator}` }
  const ask = async (path: string, method: 'GET' | 'POST') => {
    const answer = await fetch(`${url}/operator/v1${path}`, { method, headers, signal: AbortSignal.timeout(5_000) })
    return (await answer.json()) as { data: { name: string; health: { reason: string | null } }[] }
  }
  for (const { name, health } of (await ask('/accounts', 'GET')).data)
    if (health.reason !== null) await ask(`/accounts/${name}/resume`, 'POST')
}
