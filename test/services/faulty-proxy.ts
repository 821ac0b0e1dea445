import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** What happens to a request: it passes, passes with another body, gets a response here or none, or its response is lost. */
export type Fate =
  | { pass: true }
  | { body(bytes: Buffer): Buffer }
  | { status: number; code: string }
  | { silent: true }
  | { loseAnswer: true }
  | { cutAfter: number }

export interface FaultyProxy {
  endpoint: string
  /** The requests so far, as `PUT /films/a/b?x-id=PutObject`. */
  seen: string[]
  stop(): Promise<void>
}

/** A proxy before an S3 server: the test decides the fate of each request. */
export async function startFaultyProxy(target: string, fateOf: (request: string) => Fate): Promise<FaultyProxy> {
  const seen: string[] = []
  const server = createServer(async (incoming, answer) => {
    const name = `${incoming.method} ${incoming.url}`
    seen.push(name)
    const fate = fateOf(name)
    const body = await buffer(incoming).catch(() => Buffer.alloc(0))
    if ('silent' in fate) return
    if ('status' in fate) {
      answer.writeHead(fate.status, { 'content-type': 'application/xml' })
      answer.end(`<?xml version="1.0"?><Error><Code>${fate.code}</Code><Message>by the test</Message></Error>`)
      return
    }
    const real = await forward(target, incoming, 'body' in fate ? fate.body(body) : body)
    if ('loseAnswer' in fate) {
      await buffer(real)
      answer.destroy()
      return
    }
    answer.writeHead(real.statusCode ?? 500, real.headers)
    if ('cutAfter' in fate) {
      answer.write((await buffer(real)).subarray(0, fate.cutAfter), () => answer.destroy())
      return
    }
    real.pipe(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    endpoint: `http://127.0.0.1:${port}`,
    seen,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** With unchanged headers, because they are signed. */
async function forward(
  target: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): Promise<IncomingMessage> {
  const sending = request(`${target}${url}`, { method, headers, setHost: false, agent: false })
  sending.end(body)
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  return answer
}
