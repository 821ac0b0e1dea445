import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { FairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { hasPromptBytes, type TaskView } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
import type { TaskStore } from '../stores/store.ts'
import { ListVideosQuery, type Video, VideoList } from '../wire/videos.ts'
import type { Estimates } from './estimates.ts'
import { pieceBytes } from './pieces.ts'
import { defineRoute, type QueryRequest, type Route } from './route.ts'
import { dropStalled } from './server.ts'
import { openShare } from './share.ts'
import { readLimit } from './validation.ts'
import { sdkHeader } from './videos.ts'
import { toWirePage, toWireVideo, wantsNulls, wirePageEnd, wirePageStart } from './wire.ts'

/** A page with fewer bytes of prompts is built at once. */
const smallPageBytes = 64_000

interface ListDependencies {
  store: TaskStore
  estimates: Estimates
  turns: FairTurns
}

export function listVideos(dependencies: ListDependencies): Route {
  return defineRoute({
    at: 'GET /v1/videos',
    id: 'listVideos',
    summary: 'List your videos',
    description: 'The videos of this token, the newest first. For the next page send `last_id` as `after`.',
    headers: sdkHeader,
    query: { schema: ListVideosQuery },
    responses: { 200: { description: 'One page.', schema: VideoList } },
    errors: ['invalid_value', 'rate_limit_exceeded', 'storage_unavailable'],
    options: { onRequest: dropStalled },
    handler: list(dependencies),
  })
}

type ListRequest = QueryRequest<ListVideosQuery>

/** Pages follow the id, so a video that is created meanwhile does not shift them. */
function list({ store, estimates, turns }: ListDependencies) {
  const share = openShare({ most: 512, mostOfOne: 32, items: 'filtered or large lists' })
  return async (request: ListRequest, reply: FastifyReply) => {
    const owner = ownerOf(request.token)
    const { limit, isFiltered, ...wanted } = readQuery(request)
    const pace = () => openPace(share.take(owner), reply, (signal) => turns.take(owner, signal))
    // Each step of a filtered list is a turn, so that a token with very many videos does not delay others.
    const filtering = isFiltered ? pace() : undefined
    const page = { ...wanted, ...filtering }
    // One more than requested shows whether there is a next page.
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

/** The turns of one list. They end, and its share is returned, when its client has the response or disconnects. */
function openPace(one: Disposable, { raw }: FastifyReply, take: (signal: AbortSignal) => Promise<Disposable>) {
  const gone = new AbortController()
  const leave = () => {
    one[Symbol.dispose]()
    gone.abort(new Problem('overloaded', 'The client disconnected.'))
  }
  raw.once('close', leave)
  // The connection closed before: there is no second event.
  if (raw.destroyed) leave()
  return { signal: gone.signal, turn: () => take(gone.signal) }
}

function readQuery(request: ListRequest) {
  const { after = '', order = 'desc', status, model } = request.query
  // Any text works as a position in the order, except NUL, which no database accepts.
  if (after.includes('\0'))
    throw new Problem('invalid_value', "Invalid 'after'. Use the id of a video.", { param: 'after' })
  if (model?.includes('\0'))
    throw new Problem('invalid_value', "Invalid 'model'. Use the name of a model.", { param: 'model' })
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

/** The JSON of a page that is too large to be built at once, as fast as the client reads it. */
async function* makePage(first: TaskView[], { limit, read, toWire, turn }: LargePage): AsyncGenerator<string> {
  let shown: { id: string }[] = []
  for (let tasks = first; ; tasks = await read(shown.at(-1)?.id ?? '', limit + 1 - shown.length)) {
    const videos = await Promise.all(tasks.slice(0, limit - shown.length).map(toWire))
    yield await makePiece(videos, shown.length === 0 ? wirePageStart : ',', turn)
    shown = [...shown, ...videos.map(({ id }) => ({ id }))]
    const hasMore = tasks.length > videos.length
    // The store had no more tasks.
    const isLast = !hasPromptBytes(tasks, pieceBytes)
    if (hasMore || isLast) return yield wirePageEnd(shown, { hasMore })
  }
}

async function makePiece(videos: Video[], before: string, turn: LargePage['turn']): Promise<string> {
  if (videos.length === 0) return ''
  using _turn = await turn()
  return before + videos.map((video) => JSON.stringify(video)).join()
}
