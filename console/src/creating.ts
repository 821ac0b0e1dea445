import type { Model } from '../../src/wire/models.ts'
import type { Video } from '../../src/wire/videos.ts'
import { ApiError, call, personSignal, queries, readSession, Stopped, tryAgain } from './api.ts'
import { type Draft, requestOf } from './playground.ts'

/* Creates videos. A creation goes on after its page was left; it ends with its person, or when somebody stops it. */

interface Creation {
  draft: Draft
  wanted: readonly Wanted[]
  /** Whether anything shows what becomes of it. */
  page: { isLeft: boolean }
  stop: AbortController
  signal: AbortSignal
  tries: number
}

/** A video of one model. */
interface Wanted {
  model: Model
  /** Of the request: the same for each try. */
  key: string
  /** The video, if it was created before: then nothing is sent. */
  id: string | null
}

/** What became of the request to one model. */
export interface Created {
  model: string
  /** Null if the service refused it. */
  id: string | null
  error: string | null
}

export function toCreation({ draft, wanted, page }: Pick<Creation, 'draft' | 'wanted' | 'page'>): Creation {
  const stop = new AbortController()
  return { draft, wanted, page, stop, signal: AbortSignal.any([stop.signal, personSignal()]), tries: 0 }
}

export const creationKey = ['create videos']

/** The options of the mutation. `keep` gets each new video. It is tried again, and nothing is created twice. */
export function creationOptions(keep: (video: Video) => void) {
  return {
    mutationKey: creationKey,
    mutationFn: (creation: Creation) => create(creation, keep),
    retry: tryAgain.retry,
    // `create` waits itself: its pause ends when the creation is stopped.
    retryDelay: 0,
    onSuccess: reportIfLeft,
  }
}

/** Ends all that are running. The service may have accepted their requests already. */
export async function stopCreations(): Promise<void> {
  const running = queries.getMutationCache().findAll({ mutationKey: creationKey, status: 'pending' })
  for (const { state } of running) (state.variables as Creation).stop.abort(new Stopped())
}

/** Then the request is sent again, with its key. An image takes a while on a slow connection. */
const [createTimeoutMs, uploadTimeoutMs] = [30_000, 180_000]

async function create(creation: Creation, keep: (video: Video) => void): Promise<Created[]> {
  const { draft, wanted, signal } = creation
  if (creation.tries > 0) await waitForNext(creation)
  creation.tries += 1
  const image = draft.image && !draft.original ? { image: await readDataUrl(draft.image) } : {}
  const one = async ({ model, key, id }: Wanted): Promise<Created> => {
    if (id !== null) return { model: model.id, id, error: null }
    const { path, body } = requestOf(model, draft)
    const timeoutMs = 'image' in image ? uploadTimeoutMs : createTimeoutMs
    const sending = { method: 'POST', body: { ...body, ...image }, idempotencyKey: key, signal, timeoutMs } as const
    try {
      const video = await call<Video>(path, sending)
      signal.throwIfAborted()
      keep(video)
      return { model: model.id, id: video.id, error: null }
    } catch (error) {
      // The other models go on.
      if (error instanceof ApiError) return { model: model.id, id: null, error: error.message }
      throw error
    }
  }
  signal.throwIfAborted()
  return Promise.all(wanted.map(one))
}

/** A pause before each repeat. Then the session is read: in another tab, somebody else may have signed in meanwhile. */
async function waitForNext({ tries, signal }: Creation): Promise<void> {
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.throwIfAborted()
  signal.addEventListener('abort', stop, { once: true })
  const { promise: paused, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, tryAgain.retryDelay(tries - 1))
  try {
    await Promise.race([stopped, paused])
    await Promise.race([stopped, readSession()])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

function readDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error))
    reader.readAsDataURL(file)
  })
}

/** A request that the service refused after its page was left. */
export interface LeftRefusal {
  model: string
  prompt: string
  error: string
}

/** Nothing is at this path. As that of an API, it is forgotten when another person signs in. */
export const leftRefusalsKey = ['/left refusals']

/** The frame shows them. Otherwise a person would not learn that there is no video. */
function reportIfLeft(created: readonly Created[], { page, draft: { prompt } }: Creation): void {
  if (!page.isLeft) return
  for (const { model, error } of created)
    if (error !== null) changeRefusals({ model, prompt }, [{ model, prompt, error }])
}

export function forgetLeftRefusal(refusal: LeftRefusal): void {
  changeRefusals(refusal, [])
}

/** Of one model and prompt, only the last one is kept. */
function changeRefusals({ model, prompt }: Omit<LeftRefusal, 'error'>, added: readonly LeftRefusal[]): void {
  queries.setQueryData<readonly LeftRefusal[]>(leftRefusalsKey, (old = []) => [
    ...old.filter((one) => one.model !== model || one.prompt !== prompt),
    ...added,
  ])
}
