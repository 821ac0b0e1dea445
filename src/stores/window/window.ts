import { promptBytes, type TaskView } from '../../core/task.ts'
import type { Page } from '../store.ts'

export interface Filter extends Pick<Page, 'order'> {
  owner: string
  status: Page['status'] | undefined
  model: string | undefined
}

/** Where a page ends. */
export type Most = Required<Pick<Page, 'limit' | 'enoughBytes'>>

/** How a store looks through an owner's tasks, of which no index knows the status or the model. */
export interface Window {
  /** The id of the last one in a window that begins after this; undefined where the tasks end within it. */
  end(after: string): Promise<string | undefined>
  /** Those in the window that fit, in order. */
  fitting(after: string, end: string | undefined, most: Most): Promise<TaskView[]>
}

/** One window after another: a million tasks of which few fit are no reason to hold up everybody else. */
export async function lookThrough(
  window: Window,
  start: string,
  { limit, enoughBytes, signal, turn }: Most & Pick<Page, 'signal' | 'turn'>,
): Promise<TaskView[]> {
  const found: TaskView[] = []
  let bytes = 0
  for (let after: string | undefined = start; after !== undefined && found.length < limit && bytes < enoughBytes; ) {
    using _turn = await turn?.()
    signal?.throwIfAborted()
    const end = await window.end(after)
    const fitting = await window.fitting(after, end, {
      limit: limit - found.length,
      enoughBytes: enoughBytes - bytes,
    })
    found.push(...fitting)
    bytes += promptBytes(fitting)
    after = end
    // What waits in this thread comes first.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return found
}
