import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import OpenAI from 'openai-7.53'

export type Video = OpenAI.Videos.Video
export type Params = OpenAI.Videos.VideoCreateParams

const { BASE_URL: baseURL = '', TOKEN: apiKey = '', RECEIVER: receiver = '', IMAGE: image = '' } = process.env

export { image, receiver }

/** Without retries: a row that needs a second try has failed. */
export const connect = (key = apiKey) => new OpenAI({ apiKey: key, baseURL, maxRetries: 0 })
export const openai = connect()

/** Small and short, which the types of the SDK do not allow. */
export const film = { prompt: 'a lighthouse', model: 'studio', seconds: '1', size: '256x256' } as unknown as Params

/** Every video that was created and not deleted. */
export const made = new Set<string>()

export async function check(row: string, act: () => Promise<unknown>): Promise<void> {
  const failure = await act().then(
    () => undefined,
    (error: Error) => `${error.name}: ${error.message}`,
  )
  report({ row, failure })
}

export function report(verdict: { row: string; failure?: string | undefined; none?: string }): void {
  process.stdout.write(`${JSON.stringify(verdict)}\n`)
}

/** Creates the value at its first use. If that fails, every row that needs it fails. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

export async function create(params: Partial<Params> = {}, headers: Record<string, string> = {}): Promise<Video> {
  return keep(await openai.videos.create({ ...film, ...params }, { headers }))
}

export function keep(video: Video): Video {
  made.add(video.id)
  return video
}

export async function finish({ id }: Video): Promise<Video> {
  return until(`${id} ends`, async () => {
    const video = await openai.videos.retrieve(id)
    return video.status === 'completed' || video.status === 'failed' ? video : undefined
  })
}

export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end; await setTimeout(100)) {
    const seen = await look()
    if (seen !== undefined) return seen
  }
  throw new Error(`timed out: ${what}`)
}

/** A completed video that many rows start from. */
export const source = lazily(async () => {
  const video = await finish(await create())
  assert.equal(video.status, 'completed')
  return video
})

interface Refusal {
  kind: new (...args: never[]) => Error
  status: number
  code?: string
  param?: string | null
}

/** The request is refused, with the error class of the SDK, and with a readable message. */
export async function refused(act: () => Promise<unknown>, { kind, status, code, param }: Refusal): Promise<void> {
  await assert.rejects(act, (error: InstanceType<typeof OpenAI.APIError>) => {
    assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`)
    assert.equal(error.status, status)
    if (code !== undefined) assert.equal(error.code, code)
    if (param !== undefined) assert.equal(error.param, param)
    assert.match(error.requestID ?? '', /^req_/)
    assert.match(error.message, new RegExp(`^${status} \\S.{9,}`))
    return true
  })
}
