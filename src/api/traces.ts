import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { type Traces, toTaskTrace } from '../core/trace.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if requests are traced. */
    trace?: RequestTrace
  }
}

export interface TracedRequests {
  clock: Clock
  /** Off if it is left out. */
  traces?: Traces
}

interface RequestTrace {
  readonly traceId: string
  /** The trace of a task that this request creates, as it is stored. */
  beginTask(id: string): string
  end(status: number): void
}

/** Traces the requests of a scope, whose routes create tasks. Polls are not traced: there are thousands for each task. */
export function traceRequests(scope: FastifyInstance, { clock, traces }: TracedRequests): void {
  if (!traces?.isOn) return
  scope.decorateRequest('trace')
  scope.addHook('onRequest', (request, _reply, done) => {
    request.trace = openRequestTrace(request, traces, clock)
    done()
  })
  scope.addHook('onResponse', (request, reply, done) => {
    request.trace?.end(reply.statusCode)
    done()
  })
}

function openRequestTrace(request: FastifyRequest, traces: Traces, clock: Clock): RequestTrace {
  const { traceparent } = request.headers
  const { parentId, ...context } = traces.receive(typeof traceparent === 'string' ? traceparent : undefined)
  const startedAt = clock.now()
  let task: string | undefined
  return {
    traceId: context.traceId,
    beginTask(id) {
      task = id
      return toTaskTrace({ ...traces.another(context), parentId: context.spanId })
    },
    end(status) {
      const { id, method, routeOptions } = request
      const route = routeOptions.url ?? ''
      traces.record({
        name: `${method} ${route}`,
        kind: 'server',
        context,
        parentId,
        startedAt,
        endedAt: Math.max(startedAt, clock.now()),
        // Only our own failures are errors of a server.
        error: status >= 500 ? String(status) : null,
        attributes: {
          'http.request.method': method,
          'http.response.status_code': status,
          'http.route': route,
          'filmgate.request.id': id,
          ...(task !== undefined && { 'filmgate.task.id': task }),
        },
      })
    },
  }
}
