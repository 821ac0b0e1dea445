import { type TaskView, wireStatus } from '../../core/task.ts'
import type { EventsReset } from '../../wire/videos.ts'
import type { Estimates } from '../estimates.ts'
import { toWireDeleted, toWireVideo } from '../wire.ts'

/* The text of an event stream, in the format of HTML's EventSource. */

/** How long a client waits before it reconnects. */
const retry = 'retry: 3000\n'

/**
 * Keeps proxies from closing the connection, and detects one that is dead. A block without data only sets the id, so a
 * client whose videos do not change for long can still continue from a number that is stored.
 */
export function heartbeat(id: number | null): string {
  return id === null ? ':\n\n' : `:\nid: ${id}\n\n`
}

export const goodbye = ': the service is stopping, please reconnect\n\n'
export const tokenEnded = ': the token is no longer valid\n\n'
export const interrupted = ": the rest can't be read now, please reconnect\n\n"

/** With a number, the client can continue from here later, even without an event until then. */
export function opening(id: number | null): string {
  return `: connected\n${retry}${id === null ? '' : `id: ${id}\n`}\n`
}

export function resetText(id: number): string {
  const message = 'The events since your Last-Event-ID are no longer stored. List the videos with GET /v1/videos.'
  return eventText('reset', { object: 'events.reset', message } satisfies EventsReset, id)
}

/** The events of the current state of a task. Each is built once, and all its receivers share the bytes. */
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
  // Two caches, because clients that want nulls and clients that don't may alternate.
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
    // Without a number: progress is not replayed.
    progress: (view, nulls) => textOf('video.progress', view, nulls, null),
    deleted: (task, id) => eventText('video.deleted', toWireDeleted(task), id),
  }
}

function eventText(name: string, data: object, id: number | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
