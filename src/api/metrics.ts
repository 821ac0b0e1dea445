import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MetricFormat, Metrics } from '../telemetry/metrics.ts'
import { includesAddress } from './addresses.ts'
import type { Route } from './route.ts'

const contentTypes: Readonly<Record<MetricFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const openMetricsType = 'application/openmetrics-text'

export function metricsRoute({ render }: Pick<Metrics, 'render'>): Route {
  return {
    at: 'GET /metrics',
    id: 'readMetrics',
    summary: 'Metrics of this process',
    description:
      'For Prometheus and others, without ids and names of clients. An address that the operator allows needs no token. ' +
      `Figures of the store are absent while it can’t be read. Prometheus’ text format 0.0.4, or OpenMetrics 1.0 if \`Accept\` prefers \`${openMetricsType}\`.`,
    responses: {
      200: {
        description: 'The metrics.',
        type: 'text/plain',
        schema: { type: 'string', description: 'A line for each series, in the text format 0.0.4.' },
        alternatives: { [openMetricsType]: { type: 'string', description: 'The same as OpenMetrics 1.0.' } },
      },
    },
    async handler({ headers }: FastifyRequest, reply: FastifyReply) {
      const format = prefersOpenMetrics(headers.accept ?? '') ? 'openmetrics' : 'text'
      return reply.type(contentTypes[format]).send(await render(format))
    },
  }
}

/** Whether `Accept` names OpenMetrics, and prefers no other format to it. */
export function prefersOpenMetrics(accept: string): boolean {
  const qualityOf = (wanted: string) => {
    const qualities = accept.split(',').flatMap((part) => {
      const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const quality = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1'
      return type === wanted ? [Number(quality) || 0] : []
    })
    return Math.max(0, ...qualities)
  }
  return qualityOf(openMetricsType) > 0 && qualityOf(openMetricsType) >= qualityOf('text/plain')
}

interface ScrapeRules {
  /** Addresses that need no token. */
  allow: readonly string[]
  /** The listener is the operator's own: this machine needs no token. */
  trustsLoopback: boolean
}

const loopback = ['127.0.0.0/8', '::1/128']

type Sender = Pick<FastifyRequest, 'ip' | 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Whether a request may read the metrics without a token. */
export function maySkipToken(sender: Sender, { allow, trustsLoopback }: ScrapeRules): boolean {
  const { ip, socket } = sender
  // Any host that counts as a trusted proxy could claim to pass on a request of this machine.
  if (includesAddress(loopback, ip))
    return !isPassedOn(sender) && ip === socket.remoteAddress && (trustsLoopback || includesAddress(allow, ip))
  // The address is that of a proxy which is not trusted. It would be the same for everyone.
  if (isPassedOn(sender) && ip === socket.remoteAddress) return false
  return includesAddress(allow, ip)
}

/** What proxies add to a request. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip']

function isPassedOn({ headers }: Sender): boolean {
  return proxyHeaders.some((name) => headers[name] !== undefined)
}
