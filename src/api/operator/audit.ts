import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuditEntry, AuditRecord } from '../../core/audit.ts'
import { csvLine } from '../../core/csv.ts'
import { idOf } from '../../core/token.ts'
import type { TokenStore } from '../../stores/store.ts'
import { AuditEntryList, ListAuditQuery, type AuditEntry as WireEntry } from '../../wire/audit.ts'
import { clientAddressOf } from '../addresses.ts'
import { type PieceTurns, refuseDisconnected } from '../pieces.ts'
import { defineRoute, type QueryRequest, type Route } from '../route.ts'
import { readLimit, refuseForeignCursor } from '../validation.ts'
import { iso, toWirePage } from '../wire.ts'

/** The entry of a change that this request makes. */
export function auditOf(
  request: Pick<FastifyRequest, 'token' | 'ip' | 'ips'>,
  change: Omit<AuditEntry, 'actor' | 'actorName' | 'address'>,
): AuditEntry {
  const { token } = request
  return { ...change, actor: idOf(token), actorName: token.name, address: clientAddressOf(request) }
}

interface AuditDependencies {
  store: Pick<TokenStore, 'auditLog'>
  turns: PieceTurns
}

type ListRequest = QueryRequest<ListAuditQuery>

const text = (description: string) => ({ type: 'string', description }) as const
const alternatives = {
  'text/csv': text('A line with the names of the fields, and a line for each entry. `before` and `after` are JSON.'),
  'application/jsonl': text('A line for each entry, as JSON.'),
}

export function auditRoutes(dependencies: AuditDependencies): Route[] {
  return [
    defineRoute({
      at: 'GET /operator/v1/audit',
      id: 'listAuditEntries',
      summary: 'List changes by operators',
      description:
        'Who changed what, when and from where, the newest first. Entries are never changed or removed. With `format`, all of them as a file.',
      query: { schema: ListAuditQuery },
      responses: { 200: { description: 'One page, or a file.', schema: AuditEntryList, alternatives } },
      errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
      handler: (request: ListRequest, reply: FastifyReply) => {
        const { format = 'json' } = request.query
        return format === 'json'
          ? showPage(request, dependencies)
          : sendFile(request, reply, dependencies, files[format])
      },
    }),
  ]
}

async function showPage(request: ListRequest, { store }: AuditDependencies) {
  const limit = readLimit(request, ListAuditQuery)
  const found = await store.auditLog({ ...readAfter(request.query.after), limit: limit + 1 })
  return toWirePage(found.slice(0, limit).map(toWireEntry), { hasMore: found.length > limit })
}

interface FileFormat {
  type: string
  head: string
  write(entry: WireEntry): string
}

const fields = ['id', 'at', 'actor', 'actor_name', 'address', 'action', 'target', 'before', 'after'] as const

const files: Readonly<Record<'csv' | 'jsonl', FileFormat>> = {
  csv: { type: 'text/csv; charset=utf-8', head: csvLine(fields), write: (entry) => csvLine(cellsOf(entry)) },
  jsonl: { type: 'application/jsonl; charset=utf-8', head: '', write: (entry) => `${JSON.stringify(entry)}\n` },
}

function cellsOf(entry: WireEntry): unknown[] {
  return fields.map((name) => {
    const value = entry[name]
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  })
}

/** An entry is about 1 KB, so a step is as large as a page. */
const stepEntries = 100

/** Reads a step when the client has read the one before: a log of any length needs the memory of a few steps. */
async function sendFile(
  request: ListRequest,
  reply: FastifyReply,
  { store, turns }: AuditDependencies,
  { type, head, write }: FileFormat,
): Promise<Readable> {
  const most = request.query.limit === undefined ? Number.POSITIVE_INFINITY : readLimit(request, ListAuditQuery)
  const read = (place: { after?: number }, sent: number) => {
    refuseDisconnected(reply)
    const limit = Math.min(stepEntries, most - sent)
    return turns.read(idOf(request.token), () => store.auditLog({ ...place, limit }))
  }
  async function* makeFile(first: readonly AuditRecord[]): AsyncGenerator<string> {
    yield head
    let sent = 0
    for (let step = first; ; step = await read({ after: step.at(-1)?.number ?? 0 }, sent)) {
      sent += step.length
      yield step.map((record) => write(toWireEntry(record))).join('')
      if (step.length < stepEntries || sent >= most) return
    }
  }
  // Before the status is sent: the store may not respond.
  const first = await read(readAfter(request.query.after), 0)
  reply.type(type)
  return Readable.from(makeFile(first))
}

function readAfter(text: string | undefined): { after?: number } {
  refuseForeignCursor(text, { isId: (id) => /^\d{1,15}$/.test(id), of: 'an entry' })
  return text === undefined ? {} : { after: Number(text) }
}

function toWireEntry({ number, at, actorName, ...entry }: AuditRecord): WireEntry {
  const { actor, address, action, target, before, after } = entry
  return {
    ...{ id: String(number), object: 'operator.audit_entry', at: iso(at), actor, actor_name: actorName, address },
    ...{ action, target, before, after },
  }
}
