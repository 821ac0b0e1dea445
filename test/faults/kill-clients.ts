import { createHash } from 'node:crypto'
import type { Mode } from '../../simulators/upstream.ts'

/** What the clients of a gateway were told, in all its lives. */
export interface Told {
  seed: number
  submits: number
  /** How often each prompt was sent. */
  prompts: Map<string, number>
  /** Every task that a client was told of, and the last that it was told. */
  known: Map<string, string>
  violations: string[]
}

export interface Listed {
  id: string
  status: string
  prompt: string
}

export const secrets = { client: 'My API Key', operator: 'My operator key' }
export const authorization = { authorization: `Bearer ${secrets.client}` }
/** One submit goes to each in turn. */
const modes = 4
export const statuses = ['queued', 'in_progress', 'completed', 'failed']

/** A third is the same as the one before. */
export function nextPrompt(told: Told, mode: Mode): string {
  told.submits += 1
  const number = Math.floor(told.submits / modes) % 3 === 2 ? told.submits - modes : told.submits
  const prompt = `film ${number} of ${told.seed} for ${mode}`
  told.prompts.set(prompt, (told.prompts.get(prompt) ?? 0) + 1)
  return prompt
}

export async function submit(told: Told, url: string, mode: Mode): Promise<void> {
  const prompt = nextPrompt(told, mode)
  const body = JSON.stringify({ model: `sim-${mode}`, prompt })
  const headers = { ...authorization, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.status === 200) told.known.set((JSON.parse(text) as { id: string }).id, 'queued')
  else told.violations.push(`a submit got ${answer.status}: ${text}`)
}

export async function read(told: Told, url: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/v1/videos/${id}`, { headers: authorization })
  const task = (await answer.json()) as { status?: string }
  if (answer.status === 200) noteStatus(told, id, task.status ?? '')
  else told.violations.push(`lost: ${id} gives ${answer.status}`)
}

export function noteStatus(told: Told, id: string, status: string): void {
  const before = told.known.get(id) ?? 'queued'
  const final = before === 'completed' || before === 'failed'
  if (statuses.indexOf(status) < statuses.indexOf(before) || (final && status !== before))
    told.violations.push(`${id} went from ${before} to ${status}`)
  told.known.set(id, status)
}

/** All tasks, the oldest first. */
export async function list(url: string): Promise<Listed[]> {
  const all: Listed[] = []
  for (let more = true; more; ) {
    const after = all.length > 0 ? `&after=${all.at(-1)?.id}` : ''
    const answer = await fetch(`${url}/v1/videos?limit=100&order=asc${after}`, { headers: authorization })
    const page = (await answer.json()) as { data: Listed[]; has_more: boolean }
    all.push(...page.data)
    more = page.has_more
  }
  return all
}

export interface OpenAttempt {
  task: string
  account: string
  opened_at: string
}

/** Those whose outcome is not known, as the operator sees them. */
export async function openAttempts(url: string): Promise<OpenAttempt[]> {
  const headers = { authorization: `Bearer ${secrets.operator}` }
  const answer = await fetch(`${url}/operator/v1/attempts?state=open&limit=999`, { headers })
  return ((await answer.json()) as { data: OpenAttempt[] }).data
}

export async function checkBytes(told: Told, url: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/v1/videos/${id}/content`, { headers: authorization })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (answer.status !== 200 || bytes.length === 0 || answer.headers.get('etag') !== `"${sha256}"`)
    told.violations.push(`completed without its bytes: ${id} gives ${answer.status}, ${bytes.length} bytes`)
}
