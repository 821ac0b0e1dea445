import type { FastifyReply } from 'fastify'
import type { ModelCard } from '../core/catalog.ts'
import { type Extras, type ReadOptions, readParameters } from '../core/parameters.ts'
import type { UnknownParameters } from '../core/token.ts'
import type { BodyRequest } from './route.ts'
import { isForm } from './urlencoded.ts'

/** Lists the parameters that were ignored. */
export const ignoredHeader = 'x-filmgate-ignored'

/** Clients refuse headers of several kilobytes. The warnings of the video have every name. */
const longestList = 1_000

/** Encoded, because a name may have characters that are not allowed in a header. */
function listed(names: readonly string[]): string {
  const list = names.map(encodeURIComponent).join(', ')
  return list.length <= longestList ? list : `${list.slice(0, list.lastIndexOf(', ', longestList))}, ...`
}

/**
 * Reads the fields beyond the common ones, as strictly as the token is configured, and lists those that are ignored.
 */
export function readExtras({ unknownParameters = 'refuse' }: { unknownParameters?: UnknownParameters }) {
  return (
    card: ModelCard,
    request: BodyRequest<Record<string, unknown>>,
    reply: FastifyReply,
    options: Omit<ReadOptions, 'text'>,
  ): Extras => {
    const unknown = request.token.unknownParameters ?? unknownParameters
    const extras = readParameters(card, request.body, { text: isForm(request), unknown, ...options })
    if (extras.ignored.length > 0) reply.header(ignoredHeader, listed(extras.ignored))
    return extras
  }
}
