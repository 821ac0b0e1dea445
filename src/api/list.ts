import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { hasPromptBytes, type TaskView } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'
import { ListVideosQuery, type Video, VideoList } from '../wire/videos.ts'
import type { Estimates } from './estimates.ts'
import { pieceBytes } from './pieces.ts'
import type { Route } from './route.ts'
import { dropStalled } from './server.ts'
import { openShare } from './share.ts'
import { readLimit } from './validation.ts'
import { sdkHeader } from './videos.ts'
import { toWirePage, toWireVideo, wantsNulls, wirePageEnd, wirePageStart } from './wire.ts'

/** A page with shorter prompts is made at once. */
const smallPageBytes = 64_000

interface ListDependencies {
  store: TaskStore
  estimates: Estimates
  turns: FairTurns
}

export function listVideos(dependencies: ListDependencies): Route {
  return {
    at: 'GET /v1/videos',
    id: 'listVideos',
    summary: 'List your videos',
    description: 'The videos of this token, the newest first. For the next page send `last_id` as `after`.',
    headers: sdkHeader,
    query: { schema: ListVideosQuery },
    answers: { 200: { description: 'One page.', schema: VideoList } },
    errors: ['invalid_value', 'storage_unavailable'],
    options: { onRequest: dropStalled },
    handler: list(dependencies),
  }
}

/** The token's own videos, newest first; pages follow the id, so a video that is made meanwhile shifts nothing. */
function list({ store, estimates, turns }: ListDependencies) {
  const share = openShare({ most: 512, mostOfOne: 32, what: 'filtered or large lists' })
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { name: owner } = request.token
    const { limit, isFiltered, ...asked } = readQuery(request)
    const pace = () => openPace(share.take(owner), reply, (signal) => turns.take(owner, signal))
    // A token with very many videos delays no other: each step of its filtered list is a turn.
    const filtering = isFiltered ? pace() : undefined
    const page = { ...asked, ...filtering }
    // One more than asked for tells whether there is a next page.
    const tasks = await store.list(owner, { ...page, limit: limit + 1, enoughBytes: smallPageBytes })
    const nulls = wantsNulls(request)
    const toWire = async (task: TaskView) => toWireVideo(task, { nulls, estimate: await estimates.of(task) })
    const shown = tasks.slice(0, limit)
    if (!hasPromptBytes(shown, smallPageBytes))
      return toWirePage(await Promise.all(shown.map(toWire)), { hasMore: tasks.length > limit })
    const { turn } = filtering ?? pace()
    const read = async (after: string, most: number) => {
      using _turn = filtering ? null : await turn()
      return await store.list(owner, { ...page, after, limit: most, enoughBytes: pieceBytes })
    }
    reply.type('application/json; charset=utf-8')
    return Readable.from(makePage(tasks, { limit, read, toWire, turn }))
  }
}

/** The turns of one list, which end and give back its share when its client is gone or answered. */
function openPace(one: Disposable, { raw }: FastifyReply, take: (signal: AbortSignal) => Promise<Disposable>) {
  const gone = new AbortController()
  const leave = () => {
    one[Symbol.dispose]()
    gone.abort(new Problem('overloaded', 'The client has gone.'))
  }
  raw.once('close', leave)
  // Its close came before and is not told again.
  if (raw.destroyed) leave()
  return { signal: gone.signal, turn: () => take(gone.signal) }
}

function readQuery(request: FastifyRequest) {
  const { after = '', order = 'desc', status, model } = request.query as ListVideosQuery
  // Any text is a place in the order but for this, which no database takes.
  if (after.includes('\0'))
    throw new Problem('invalid_value', 'Invalid value. Use the id of a video.', { param: 'after' })
  if (model?.includes('\0'))
    throw new Problem('invalid_value', 'Invalid value. Use the name of a model.', { param: 'model' })
  return {
    ...(after === '' ? {} : { after }),
    ...(status && { status }),
    ...(model !== undefined && { model }),
    isFiltered: status !== undefined || model !== undefined,
    limit: readLimit(request, ListVideosQuery),
    order,
  }
}

interface LargePage {
  limit: number
  read(after: string, most: number): Promise<TaskView[]>
  toWire(task: TaskView): Promise<Video>
  turn(): Promise<Disposable>
}

/** The JSON of a page that is too large to be read and made at once, as fast as the client takes it. */
async function* makePage(first: TaskView[], { limit, read, toWire, turn }: LargePage): AsyncGenerator<string> {
  let shown: { id: string }[] = []
  for (let tasks = first; ; tasks = await read(shown.at(-1)?.id ?? '', limit + 1 - shown.length)) {
    const videos = await Promise.all(tasks.slice(0, limit - shown.length).map(toWire))
    yield await makePiece(videos, shown.length === 0 ? wirePageStart : ',', turn)
    shown = [...shown, ...videos.map(({ id }) => ({ id }))]
    const hasMore = tasks.length > videos.length
    // It came to an end before it was large.
    const isLast = !hasPromptBytes(tasks, pieceBytes)
    if (hasMore || isLast) return yield wirePageEnd(shown, { hasMore })
  }
}

async function makePiece(videos: Video[], before: string, turn: LargePage['turn']): Promise<string> {
  if (videos.length === 0) return ''
  using _turn = await turn()
  return before + videos.map((video) => JSON.stringify(video)).join()
}
