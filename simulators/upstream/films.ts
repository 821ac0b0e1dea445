import { type Answer, json, type Silence } from './answer.ts'
import { type Job, viewOf } from './jobs.ts'
import { markFilm } from './marks.ts'
import type { Head } from './wire.ts'
import { note, type World } from './world.ts'

/** A film from the host of results, by its link. */
export function sendFilm(world: World, head: Head, url: string): Answer | Silence {
  const { path, query, headers } = head
  // Hosts of results are not the provider: they take a key for a mistake.
  if (headers.authorization !== undefined) return json(400, { error: 'no Authorization is taken here' })
  const job = world.jobs.get(decodeURIComponent(path.slice('/files/'.length)).replace(/\.mp4$/, ''))
  if (job === undefined) return gone
  if (query.has('until') && Number(query.get('until')) <= Date.now())
    return json(403, { error: 'this link has expired' })
  return filmOf(world, job, { ...head, path: url }) ?? gone
}

const gone = json(404, { error: 'no such file' })

/** The film, or what goes wrong with it; nothing while there is none. */
export function filmOf(world: World, job: Job, { path, headers }: Head): Answer | Silence | undefined {
  const { plan } = world
  if (viewOf(job, plan.settings.speed).status !== 'done') return undefined
  const film = filmMadeBy(world, job)
  const fault = plan.take('download', job.body.prompt)
  if (fault === undefined) return partOf(film, headers.range)
  note(world, fault, job.body.prompt, job.id)
  return fault.answer(film, path)
}

/** All jobs make the same film, but for its mark. */
export function filmMadeBy({ film }: World, { id, body }: Job): Uint8Array {
  const { prompt, reference = null } = body
  return markFilm(film, { id, prompt, reference })
}

function partOf(film: Uint8Array, range = ''): Answer {
  const headers = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', etag: `"${film.length}"` }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? []
  if (first === undefined) return { status: 200, headers, body: film }
  const start = Number(first)
  const end = Math.min(last ? Number(last) : film.length - 1, film.length - 1)
  if (start > end) return { status: 416, headers: { ...headers, 'content-range': `bytes */${film.length}` } }
  const contentRange = `bytes ${start}-${end}/${film.length}`
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, body: film.subarray(start, end + 1) }
}
