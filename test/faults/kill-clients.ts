import { createHash } from 'node:crypto'
import { type Mark, markOf } from '../../simulators/upstream.ts'
import type { Target } from './targets.ts'

/** What the clients of a gateway know, over all of its restarts. */
export interface ClientRecord {
  seed: number
  /** The number of submits to each target. */
  submits: Map<string, number>
  /** How often each prompt was sent. */
  prompts: Map<string, number>
  /** Every task that a client knows, with its last known state. */
  known: Map<string, string>
  /** Tasks of the second tenant. */
  another: Set<string>
  /** The marks in the bytes of completed tasks, which name their job. */
  marks: Map<string, Mark | undefined>
  violations: string[]
}

export function newClientRecord(seed: number): ClientRecord {
  return {
    seed,
    submits: new Map(),
    prompts: new Map(),
    known: new Map(),
    another: new Set(),
    marks: new Map(),
    violations: [],
  }
}

export interface Listed {
  id: string
  status: string
  prompt: string
}

export const secrets = { client: 'My API Key', another: 'The API key of another tenant', operator: 'My operator key' }
type Tenant = 'client' | 'another'
export const statuses = ['queued', 'in_progress', 'completed', 'failed']

export function authorizationFor({ another }: Pick<ClientRecord, 'another'>, id: string): Record<string, string> {
  return authorizationOf(another.has(id) ? 'another' : 'client')
}

function authorizationOf(tenant: Tenant): Record<string, string> {
  return { authorization: `Bearer ${secrets[tenant]}` }
}

export interface NextSubmit {
  body: string
  headers: Record<string, string>
  /** Remembers the created task. */
  onAccepted(id: string): void
}

/**
 * For simulated providers a third of the tasks is identical to the one before. Engines may identify a job only by its
 * prompt: they get different prompts, of two tenants in turn.
 */
export function nextSubmit(record: ClientRecord, { name, dialect }: Target): NextSubmit {
  const count = record.submits.get(name) ?? 0
  record.submits.set(name, count + 1)
  const number = !dialect && count % 3 === 2 ? count - 1 : count
  const tenant: Tenant = dialect && count % 2 === 1 ? 'another' : 'client'
  const prompt = `film ${number} of ${record.seed} for ${name}`
  record.prompts.set(prompt, (record.prompts.get(prompt) ?? 0) + 1)
  return {
    body: JSON.stringify({ model: name, prompt }),
    headers: { ...authorizationOf(tenant), 'content-type': 'application/json' },
    onAccepted(id) {
      record.known.set(id, 'queued')
      if (tenant === 'another') record.another.add(id)
    },
  }
}

export async function submit(record: ClientRecord, url: string, target: Target): Promise<void> {
  const { body, headers, onAccepted } = nextSubmit(record, target)
  const answer = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.status === 200) onAccepted((JSON.parse(text) as { id: string }).id)
  else record.violations.push(`a submit got ${answer.status}: ${text}`)
}

export async function read(record: ClientRecord, url: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/v1/videos/${id}`, { headers: authorizationFor(record, id) })
  const task = (await answer.json()) as { status?: string }
  if (answer.status === 200) noteStatus(record, id, task.status ?? '')
  else record.violations.push(`lost: ${id} gives ${answer.status}`)
}

export function noteStatus(record: ClientRecord, id: string, status: string): void {
  const before = record.known.get(id) ?? 'queued'
  const final = before === 'completed' || before === 'failed'
  if (statuses.indexOf(status) < statuses.indexOf(before) || (final && status !== before))
    record.violations.push(`${id} went from ${before} to ${status}`)
  record.known.set(id, status)
}

/** All tasks of both tenants, the oldest of each first. From now on the clients know all of them. */
export async function list(record: ClientRecord, url: string): Promise<Listed[]> {
  const mine = await listOf('client', url)
  const others = await listOf('another', url)
  for (const { id } of others) record.another.add(id)
  return [...mine, ...others]
}

async function listOf(tenant: Tenant, url: string): Promise<Listed[]> {
  const all: Listed[] = []
  for (let more = true; more; ) {
    const after = all.length > 0 ? `&after=${all.at(-1)?.id}` : ''
    const headers = authorizationOf(tenant)
    const answer = await fetch(`${url}/v1/videos?limit=100&order=asc${after}`, { headers })
    const page = (await answer.json()) as { data: Listed[]; has_more: boolean }
    all.push(...page.data)
    more = page.has_more
  }
  return all
}

export interface OpenAttempt {
  id: string
  task: string
  account: string
  opened_at: string
}

/** Tasks of unknown outcome, as the operator sees them. */
export async function openAttempts(url: string): Promise<OpenAttempt[]> {
  return (await operate<{ data: OpenAttempt[] }>(url, '/attempts?state=open&limit=999')).data
}

/** When the task is due next. */
export async function dueAt(url: string, id: string): Promise<number> {
  return Date.parse((await operate<{ due_at: string | null }>(url, `/tasks/${id}`)).due_at ?? '')
}

async function operate<Answer>(url: string, path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${secrets.operator}` }
  return (await (await fetch(`${url}/operator/v1${path}`, { headers })).json()) as Answer
}

/** Reads all tasks as clients do: none is lost, none was never created, and each completed one has its bytes. */
export async function lookAtAll(record: ClientRecord, url: string): Promise<Listed[]> {
  const tasks = await list(record, url)
  const ids = new Set(tasks.map(({ id }) => id))
  for (const id of record.known.keys()) if (!ids.has(id)) record.violations.push(`lost: ${id} is not listed`)
  for (const [prompt, made] of Map.groupBy(tasks, ({ prompt }) => prompt))
    if (made.length > (record.prompts.get(prompt) ?? 0)) record.violations.push(`two tasks of one submit: ${prompt}`)
  for (const { id, status } of tasks) {
    noteStatus(record, id, status)
    if (status === 'completed') await checkBytes(record, url, id)
  }
  return tasks
}

async function checkBytes(record: ClientRecord, url: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/v1/videos/${id}/content`, { headers: authorizationFor(record, id) })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (answer.status !== 200 || bytes.length === 0 || answer.headers.get('etag') !== `"${sha256}"`)
    record.violations.push(`completed without its bytes: ${id} gives ${answer.status}, ${bytes.length} bytes`)
  record.marks.set(id, markOf(bytes))
}
