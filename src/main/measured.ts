import type { Bucket } from '../buckets/bucket.ts'
import { Problem } from '../core/problem.ts'
import type { Media } from '../media/media.ts'
import type { Upstream } from '../outbound.ts'
import type { Store } from '../stores/store.ts'
import type { Metrics, UpstreamTimer, WorkMeter } from '../telemetry/metrics.ts'

/* Wrappers that measure a part. */

/** An HTTP client of one account. */
export function measureUpstream(account: string, upstream: Upstream, meter: Pick<WorkMeter, 'upstream'>): Upstream {
  const measure = async (
    call: Parameters<WorkMeter['upstream']>[1],
    signal: AbortSignal,
    request: (measurement: Measurement) => Promise<Response>,
  ) => {
    const measurement: Measurement = { ...meter.upstream(account, call), isOurFault: false }
    try {
      const response = await request(measurement)
      measurement.end(resultOf(response.status))
      return response
    } catch (thrown) {
      // An aborted request says nothing about the provider.
      if (!measurement.isOurFault && !signal.aborted)
        measurement.end(Problem.from(thrown).code === 'provider_unreachable' ? 'unreachable' : 'failed')
      throw thrown
    }
  }
  return {
    send: (path, init, signal, departure) =>
      measure('send', signal, (measurement) =>
        upstream.send(path, init, signal, departure && withoutCommit(departure, measurement)),
      ),
    fetch: (path, init, signal) => measure('fetch', signal, () => upstream.fetch(path, init, signal)),
    download: (location, init, signal) => measure('download', signal, () => upstream.download(location, init, signal)),
  }
}

interface Measurement extends UpstreamTimer {
  /** The request was not sent, because something of ours failed. */
  isOurFault: boolean
}

type Departure = NonNullable<Parameters<Upstream['send']>[3]>

/** The attempt is committed between the connection and the request. Neither its time nor its failure is the provider's. */
function withoutCommit(departure: Departure, measurement: Measurement): Departure {
  return {
    async ready(isOpen) {
      const resume = measurement.pause()
      try {
        await departure.ready(isOpen)
      } catch (thrown) {
        measurement.isOurFault = Problem.from(thrown).code !== 'provider_unreachable'
        throw thrown
      } finally {
        resume()
      }
    },
    leave() {
      measurement.isOurFault = true
      departure.leave()
      measurement.isOurFault = false
    },
  }
}

/** Statuses with a meaning of their own. An upstream may send any other, so others count by class. */
const knownStatuses = new Set([
  ...[200, 201, 202, 204, 206, 301, 302, 303, 307, 308],
  ...[400, 401, 402, 403, 404, 408, 409, 410, 413, 415, 422, 429],
  ...[500, 501, 502, 503, 504, 529],
])

function resultOf(status: number): string {
  return knownStatuses.has(status) ? String(status) : `${Math.floor(status / 100)}xx`
}

export function measureBucket(bucket: Bucket, { bucket: begin }: Pick<WorkMeter, 'bucket'>): Bucket {
  type Operation = Parameters<typeof begin>[0]
  const measure = async <Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> => {
    const end = begin(operation)
    try {
      const result = await work()
      end(operation === 'open' && result === undefined ? 'missing' : 'ok')
      return result
    } catch (thrown) {
      end('failed')
      throw thrown
    }
  }
  const measured = <Args extends unknown[], Result>(
    operation: Operation,
    work: ((...args: Args) => Promise<Result>) | undefined,
  ) => work && ((...args: Args) => measure(operation, () => work(...args)))
  // Bound: a bucket may be an object of a class.
  const adopt = measured('adopt', bucket.adopt?.bind(bucket))
  const link = measured('link', bucket.link?.bind(bucket))
  const path = bucket.path?.bind(bucket)
  return {
    put: (key, body, signal) => measure('put', () => bucket.put(key, body, signal)),
    open: (key, range) => measure('open', () => bucket.open(key, range)),
    removeFolder: (folder) => measure('remove', () => bucket.removeFolder(folder)),
    checkWritable: () => measure('check', () => bucket.checkWritable()),
    ...(adopt && { adopt }),
    ...(link && { link }),
    ...(path && { path }),
  }
}

export function measureMedia<Measured extends Media>(
  media: Measured,
  meter: Pick<WorkMeter, 'verification'>,
): Measured {
  return {
    ...media,
    async verify(...job: Parameters<Media['verify']>) {
      const end = meter.verification()
      try {
        const decoded = await media.verify(...job)
        end('ok')
        return decoded
      } catch (thrown) {
        end('failed')
        throw thrown
      }
    },
  }
}

/** Counts the tasks that are created, and the tries of webhook deliveries. Polls are not slowed down. */
export function measureStore(store: Store, { tasks, work }: Pick<Metrics, 'tasks' | 'work'>): Store {
  return {
    ...store,
    async insert(task, caps, mostQueued) {
      await store.insert(task, caps, mostQueued)
      tasks.created(task.card)
    },
    async recordDelivery(outcome) {
      const isRecorded = await store.recordDelivery(outcome)
      if (isRecorded) work.delivered(outcome.state === 'pending' ? 'retried' : outcome.state)
      return isRecorded
    },
  }
}
