import { promptBytes, type TaskView } from '../core/task.ts'
import type { Page } from './store.ts'

export interface Filter extends Pick<Page, 'order'> {
  owner: string
  status: Page['status'] | undefined
  model: string | undefined
}

/** The limits of a page. */
export type PageLimits = Required<Pick<Page, 'limit' | 'enoughBytes'>>

/** How a store searches an owner's tasks by status or model, which no index has. */
export interface Window {
  /** The id of the last task in the window that begins after `after`; undefined if the tasks end within it. */
  end(after: string): Promise<string | undefined>
  /** The matching tasks of the window, in order. */
  fitting(after: string, end: string | undefined, most: PageLimits): Promise<TaskView[]>
}

/** One window after another, so that a search through a million tasks does not block other clients. */
export async function searchWindows(
  window: Window,
  start: string,
  { limit, enoughBytes, signal, turn }: PageLimits & Pick<Page, 'signal' | 'turn'>,
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
    // Lets other work of this thread run first.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return found
}
