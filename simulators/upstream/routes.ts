import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Answer, give, json, type Silence } from './answer.ts'
import { cancel, type Job, type JobBody, type JobView, viewOf } from './jobs.ts'
import { submit } from './submit.ts'
import { type Ledger, note, type World } from './world.ts'

export async function handle(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '', query] = (request.url ?? '').split('?')
  const [, folder = '', id] = path.split('/')
  const route = `${request.method} /${folder}${id === undefined ? '' : '/:id'}`
  if (folder === 'jobs' || folder === 'files') world.log.requests += 1
  const asked = { route, id: id ?? '', query: new URLSearchParams(query) }
  const answer = await answerTo(world, request, asked).catch((error: unknown) => {
    // A client that breaks off its own request gets no answer; anything else is a mistake of ours.
    if (request.complete) throw error
    return 'close' as const
  })
  give(response, answer, world.plan.settings.dripMs)
}

interface Asked {
  route: string
  id: string
  query: URLSearchParams
}

async function answerTo(world: World, request: IncomingMessage, asked: Asked): Promise<Answer | Silence> {
  const { route, id, query } = asked
  if (route === 'GET /ledger') return json(200, { accepts: world.jobs.accepts, ...world.log } satisfies Ledger)
  if (route === 'POST /faults') return order(world, await text(request))
  if (route === 'GET /files/:id') return download(world, request, id.replace(/\.mp4$/, ''), query)
  if (!route.includes(' /jobs')) return json(404, { error: 'no such route' })
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (bearer === undefined) return json(401, { error: 'no key' })
  if (route === 'POST /jobs') return submit(world, request, bearer)
  if (route === 'GET /jobs') return find(world, query)
  const job = world.jobs.get(id)
  if (job === undefined || job.unknownUntil > Date.now()) return json(404, { error: 'unknown job' })
  if (route === 'GET /jobs/:id') return poll(world, job)
  if (route === 'DELETE /jobs/:id') return json(200, { cancelled: cancel(job, world.plan.settings.speed) })
  return json(405, { error: 'no such method' })
}

function order(world: World, body: string): Answer {
  try {
    world.setFaults(JSON.parse(body))
  } catch (thrown) {
    return json(400, { error: String(thrown) })
  }
  // Whoever kept this connection could not be refused a new one.
  return json(200, { seed: world.plan.seed, ...world.plan.settings }, { connection: 'close' })
}

function poll(world: World, job: Job): Answer | Silence {
  const { settings } = world.plan
  const view: JobView = viewOf(job, settings.speed)
  const until = settings.linkMs > 0 ? `?until=${Date.now() + settings.linkMs}` : ''
  if (view.status === 'done') view.url = `${world.origin}/files/${job.id}.mp4${until}`
  const fault = world.plan.take('poll', job.body.prompt)
  if (fault === undefined) return json(200, view)
  note(world, fault, job.body.prompt, job.id)
  return fault.answer(view, job, Date.now() + settings.unknownMs)
}

function find(world: World, query: URLSearchParams): Answer | Silence {
  const jobs = world.jobs.find(query, world.plan.settings.lagMs)
  if (jobs === undefined) return json(404, { error: 'no such route' })
  const found = { jobs: jobs.map(({ id, body, acceptedAt }) => ({ id, ...listed(body), created_at: acceptedAt })) }
  const fault = world.plan.take('find', query.get('reference') ?? '')
  if (fault === undefined) return json(200, found)
  note(world, fault, null, null)
  return fault.answer(found)
}

function listed({ model, prompt, seconds, size, reference }: JobBody): object {
  return { model, prompt, seconds, size, reference }
}

function download(world: World, request: IncomingMessage, id: string, query: URLSearchParams): Answer | Silence {
  const { jobs, plan, film } = world
  // Hosts of results are not the provider: they take a key for a mistake.
  if (request.headers.authorization !== undefined) return json(400, { error: 'no Authorization is taken here' })
  const job = jobs.get(id)
  if (job === undefined || viewOf(job, plan.settings.speed).status !== 'done')
    return json(404, { error: 'no such file' })
  if (query.has('until') && Number(query.get('until')) <= Date.now())
    return json(403, { error: 'this link has expired' })
  const fault = plan.take('download', job.body.prompt)
  if (fault === undefined) return partOf(film, request.headers.range)
  note(world, fault, job.body.prompt, id)
  return fault.answer(film, request.url ?? '')
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
