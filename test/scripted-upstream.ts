import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tinyFilm } from '../simulators/upstream/tiny-film.ts'

/** A video as a server that speaks OpenAI's Videos API lists it. */
export interface UpstreamVideo {
  id: string
  model: string
  prompt: string
  seconds: string
  size: string
  /** In seconds. */
  created_at: number
}

/** An upstream whose responses to submits are set by the test. Each of its videos is finished at once, by default. */
export interface ScriptedUpstream extends AsyncDisposable {
  readonly url: string
  /** Called when the headers of a submit have arrived. */
  onSubmit: (response: ServerResponse) => void
  readonly videos: UpstreamVideo[]
  /** Of every video that is polled. */
  status: string
  /** How often its list was read. */
  readonly lists: number
}

export async function startScripted(): Promise<ScriptedUpstream> {
  const videos: UpstreamVideo[] = []
  let lists = 0
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://upstream')
    const [, , , id, content] = pathname.split('/')
    if (request.method === 'POST') return scripted.onSubmit(response)
    if (content) return void response.end(tinyFilm)
    if (id) return sendJson(response, { id, status: scripted.status })
    if (pathname === '/v1/models') return sendJson(response, { data: [{ id: 'film', object: 'model' }] })
    lists += 1
    sendJson(response, { object: 'list', data: videos.map((video) => ({ ...video, status: 'completed' })) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const scripted = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    onSubmit: (response: ServerResponse) => sendJson(response, { id: 'video_1', status: 'queued' }),
    videos,
    status: 'completed',
    get lists() {
      return lists
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return scripted
}

export function sendJson(response: ServerResponse, body: object): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}
