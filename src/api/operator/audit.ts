import type { FastifyRequest } from 'fastify'
import type { AuditEntry, AuditRecord } from '../../core/audit.ts'
import { idOf } from '../../core/token.ts'
import type { TokenStore } from '../../stores/store.ts'
import { AuditEntryList, ListAuditQuery, type AuditEntry as WireEntry } from '../../wire/audit.ts'
import { clientAddressOf } from '../addresses.ts'
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

export function auditRoutes({ store }: { store: TokenStore }): Route[] {
  return [
    defineRoute({
      at: 'GET /operator/v1/audit',
      id: 'listAuditEntries',
      summary: 'List changes by operators',
      description: 'Who changed what, when and from where, the newest first. Entries are never changed or removed.',
      query: { schema: ListAuditQuery },
      responses: { 200: { description: 'One page.', schema: AuditEntryList } },
      errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
      handler: async (request: QueryRequest<ListAuditQuery>) => {
        const limit = readLimit(request, ListAuditQuery)
        const found = await store.auditLog({ ...readAfter(request.query.after), limit: limit + 1 })
        return toWirePage(found.slice(0, limit).map(toWireEntry), { hasMore: found.length > limit })
      },
    }),
  ]
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
