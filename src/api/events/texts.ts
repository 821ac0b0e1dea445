import { type TaskView, wireStatus } from '../../core/task.ts'
import type { EventsReset } from '../../wire/videos.ts'
import type { Estimates } from '../estimates.ts'
import { toWireDeleted, toWireVideo } from '../wire.ts'

/* What goes over the wire of a stream of events: the format of HTML's EventSource, and our events in it. */

/** How long a client waits before it comes back. */
const retry = 'retry: 3000\n'

/**
 * Keeps proxies from taking the connection for dead, and tells us of one that is. With a number, a client of which no
 * video changes for long does not fall behind what is kept: a block without data only sets the id.
 */
export function heartbeat(id: number | null): string {
  return id === null ? ':\n\n' : `:\nid: ${id}\n\n`
}

export const goodbye = ': the service is about to stop, come back\n\n'
export const interrupted = ': the rest can not be read now, come back\n\n'

/** With a number a client can go on from here later, even if nothing happens until then. */
export function opening(id: number | null): string {
  return `: here is what happens from now on\n${retry}${id === null ? '' : `id: ${id}\n`}\n`
}

export function resetText(id: number): string {
  const message = 'What happened since your Last-Event-ID is not known here any more: list the videos, GET /v1/videos.'
  return eventText('reset', { object: 'events.reset', message } satisfies EventsReset, id)
}

/** By the present state of a task; made once for all who are told, who share its bytes while they wait. */
export interface Texts {
  status(view: TaskView, nulls: boolean, id: number): Buffer
  progress(view: TaskView, nulls: boolean): Buffer
  deleted(task: string, id: number): string
}

export function openTexts(estimates: Estimates): Texts {
  interface Made {
    name: string
    id: number | null
    bytes: Buffer
  }
  // Apart: clients that want nulls and clients that don't may alternate.
  const [withNulls, without] = [new WeakMap<TaskView, Made>(), new WeakMap<TaskView, Made>()]
  const textOf = (name: string, view: TaskView, nulls: boolean, id: number | null): Buffer => {
    const made = nulls ? withNulls : without
    const last = made.get(view)
    if (last?.name === name && last.id === id) return last.bytes
    const bytes = Buffer.from(eventText(name, toWireVideo(view, { nulls, estimate: estimates.known(view) }), id))
    made.set(view, { name, id, bytes })
    return bytes
  }
  return {
    status: (view, nulls, id) => textOf(`video.${wireStatus(view)}`, view, nulls, id),
    // Without a number: it is no news that could be told again.
    progress: (view, nulls) => textOf('video.progress', view, nulls, null),
    deleted: (task, id) => eventText('video.deleted', toWireDeleted(task), id),
  }
}

function eventText(name: string, data: object, id: number | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
