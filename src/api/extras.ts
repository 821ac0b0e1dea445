import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ModelCard } from '../core/catalog.ts'
import { type Extras, type ReadOptions, readParameters } from '../core/parameters.ts'
import type { UnknownParameters } from '../core/token.ts'
import { isForm } from './urlencoded.ts'

/** Names the parameters that were left out. */
export const ignoredHeader = 'x-filmgate-ignored'

/** Clients refuse headers of some kilobytes in all; the warnings of the video have every name. */
const longestList = 1_000

/** A name may have characters that no header can carry. */
function listed(names: readonly string[]): string {
  const list = names.map(encodeURIComponent).join(', ')
  return list.length <= longestList ? list : `${list.slice(0, list.lastIndexOf(', ', longestList))}, ...`
}

/** Reads what a request says beyond the common fields, as strictly as its token wants, and names what is left out. */
export function readExtras({ unknownParameters = 'refuse' }: { unknownParameters?: UnknownParameters }) {
  return (
    card: ModelCard,
    request: FastifyRequest,
    reply: FastifyReply,
    options: Omit<ReadOptions, 'text'>,
  ): Extras => {
    const unknown = request.token.unknownParameters ?? unknownParameters
    const fields = request.body as Record<string, unknown>
    const extras = readParameters(card, fields, { text: isForm(request), unknown, ...options })
    if (extras.ignored.length > 0) reply.header(ignoredHeader, listed(extras.ignored))
    return extras
  }
}
