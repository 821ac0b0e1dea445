import type { Json, Size } from '../../core/task.ts'
import type { Call, Found, ProviderRequest } from '../provider.ts'
import {
  clockSlackMs,
  type Fields,
  fieldsOf,
  foundIn,
  isSegment,
  type Likeness,
  plainPrompt,
  readFields,
  textOf,
  unclear,
} from '../reading/answers.ts'

/* Looks for the video of an attempt in what an upstream lists, and says what that proves: docs/decisions/0016. */

type Asking = Pick<Call, 'fetch' | 'signal' | 'now'> & { headers: Record<string, string> }

export async function findVideo(request: ProviderRequest, openedAt: number, call: Asking): Promise<Found> {
  const { videos, span, isPartial } = await listSince(openedAt, call)
  return foundIn(videos, (video) => likenessOf(video, request, span), isPartial)
}

/** The most that all of them list at once, and the fewest that one lists at a time. */
const [mostListed, fewestPerPage] = [100, 20]
const mostPages = 10

/** In seconds, in milliseconds, or as a date. What can't be the time of a video is not told. */
function createdAt({ created_at: created }: Fields): number | undefined {
  const at = typeof created === 'number' ? created * (created > 1e11 ? 1 : 1_000) : Date.parse(String(created))
  return at > 1e12 && at < 1e13 ? at : undefined
}

interface Listed {
  videos: Fields[]
  span: Span
  /** There may be more that are as young as the attempt. */
  isPartial: boolean
}

/** The newest videos, page by page, as far back as the attempt. */
async function listSince(openedAt: number, call: Asking): Promise<Listed> {
  const videos: Fields[] = []
  for (let pages = 1; ; pages += 1) {
    const last = videos.at(-1)?.id
    const query = `limit=${mostListed}&order=desc${last === undefined ? '' : `&after=${encodeURIComponent(String(last))}`}`
    const response = await call.fetch(`/videos?${query}`, { method: 'GET', headers: call.headers }, call.signal)
    if (response.status !== 200) throw unclear(`the question for videos got ${response.status}`)
    const list = await readFields(response)
    if (!Array.isArray(list.data) || list.error) throw unclear('a list of videos without data')
    const page = list.data.map(fieldsOf)
    const span = spanOf(openedAt, response, call)
    // One that knows no pages tells the same ones again.
    const isRepeated = page.length > 0 && videos.some(({ id }) => id === page[0]?.id)
    if (!isRepeated) videos.push(...page)
    const isPartial = isRepeated || !isWhole(list, videos, span)
    const goesOn =
      isPartial && !isRepeated && page.length > 0 && pages < mostPages && isSegment(page.at(-1)?.id as Json)
    if (!goesOn) return { videos, span, isPartial }
  }
}

/** Whether a video that is not in the list does not exist: there are no more, or the last one is older than the attempt. */
function isWhole(list: Fields, videos: readonly Fields[], { since }: Span): boolean {
  const times = videos.map(createdAt)
  const isSorted = times.every((at, index) => at !== undefined && at <= (times[index - 1] ?? at))
  if ((isSorted && (times.at(-1) ?? since) < since) || list.has_more === false) return true
  const marks = [list.has_more, list.next, list.next_page, list.last_id]
  return marks.every((mark) => mark === undefined || mark === null) && videos.length < fewestPerPage
}

/** By its own clock. */
interface Span {
  since: number
  until: number
}

/** No engine takes longer to register what it got, however busy it is. */
const arrivalMs = 5 * 60_000

/**
 * When the video of an attempt must have been created. The date of the answer tells how far its clock is from ours now;
 * where that is far, our own may have been changed since the attempt was opened, so both times are allowed for.
 */
function spanOf(openedAt: number, { headers }: Response, call: Pick<Call, 'now'>): Span {
  const date = Date.parse(headers.get('date') ?? '')
  const skewMs = Number.isNaN(date) ? 0 : date - call.now()
  return {
    since: openedAt + Math.min(0, skewMs) - clockSlackMs,
    until: openedAt + Math.max(0, skewMs) + clockSlackMs + arrivalMs,
  }
}

/**
 * What a list does not tell proves nothing: without a prompt (SGLang, FastVideo), or without a time, a video may be
 * anybody's. Seconds and sizes may be those that the engine adjusted to its model, so they are compared with a tolerance.
 */
function likenessOf(video: Fields, { prompt, seconds, size }: ProviderRequest, { since, until }: Span): Likeness {
  const at = createdAt(video)
  if (at !== undefined && (at < since || at > until)) return 'other'
  const [told, ours] = [plainPrompt(textOf(video.prompt) ?? ''), plainPrompt(prompt)]
  if (told === '') return 'possible'
  const isTold = at !== undefined && areClose(video.seconds, seconds) && isCloseSize(video.size, size)
  if (told === ours) return isTold ? 'match' : 'possible'
  // It may be cut off, or embellished.
  const [theirs, wanted] = [told.replace(/(…|\.{3})$/, '').toLowerCase(), ours.toLowerCase()]
  return theirs.includes(wanted) || wanted.includes(theirs) ? 'possible' : 'other'
}

/** Engines align frames to their model and their GPUs. What is not told as a number may be anything. */
function areClose(told: unknown, wanted: number): boolean {
  const seconds = Number.parseFloat(String(told))
  return Number.isNaN(seconds) || Math.abs(seconds - wanted) <= Math.max(1, wanted / 4)
}

function isCloseSize(told: unknown, { width, height }: Size): boolean {
  const sides = /^(\d+)x(\d+)$/
    .exec(String(told ?? ''))
    ?.slice(1)
    .map(Number)
  const near = (side = 0, wanted: number) => Math.abs(side - wanted) <= Math.max(64, wanted / 10)
  return sides === undefined || (near(sides[0], width) && near(sides[1], height))
}
