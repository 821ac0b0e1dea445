import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createVertex } from '@ai-sdk/google-vertex'
import { type GenerateVideosConfig, type GenerateVideosOperation, GoogleGenAI, type Image } from '@google/genai'
import { JWT } from 'google-auth-library'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { newServiceAccount, type ServiceAccount, vertexWire } from './vertex.ts'

const account = newServiceAccount()
const place = { project: account.project_id, location: 'us-central1' }
const model = 'veo-3.1-fast-generate-001'
const config = { numberOfVideos: 1, durationSeconds: 4, aspectRatio: '16:9', resolution: '720p', generateAudio: true }

describe("the simulated Vertex AI, used by Google's own client", { concurrency: false }, () => {
  let upstream: Upstream
  let client: GoogleGenAI
  before(async () => {
    upstream = await startUpstream({ wire: vertexWire(account), speed: 50 })
    client = clientFor(account)
  })
  after(() => upstream[Symbol.asyncDispose]())

  const clientFor = (given: ServiceAccount, scope?: string) =>
    new GoogleGenAI({
      vertexai: true,
      ...place,
      googleAuthOptions: { authClient: signing(given, scope) },
      httpOptions: { baseUrl: upstream.url },
    })
  const finish = async (operation: GenerateVideosOperation) => {
    for (let tries = 0; tries < 100 && !operation.done; tries += 1) {
      await sleep(10)
      operation = await client.operations.getVideosOperation({ operation })
    }
    assert.equal(operation.done, true)
    return operation
  }
  const make = async (prompt: string, { image, more }: { image?: Image; more?: GenerateVideosConfig } = {}) => {
    const source = { prompt, ...(image && { image }) }
    return finish(await client.models.generateVideos({ model, source, config: { ...config, ...more } }))
  }

  it('generates a video, with a token that the client signs itself', async () => {
    const { name, response } = await make('a paper boat')
    assert.match(
      name ?? '',
      /^projects\/film-project-1\/locations\/us-central1\/publishers\/google\/models\/veo-.+\/operations\/[\da-f-]{36}$/,
    )
    assert.equal(response?.raiMediaFilteredCount, 0)
    const { videoBytes, mimeType } = response?.generatedVideos?.[0]?.video ?? {}
    assert.equal(mimeType, 'video/mp4')
    assert.deepEqual(withoutMark(Buffer.from(videoBytes ?? '', 'base64')), tinyFilm)
  })

  it('generates a video from an image, with all parameters of a card', async () => {
    const image = { imageBytes: 'iVBORw0KGgo=', mimeType: 'image/png' }
    const more = { seed: 2 ** 32 - 1, negativePrompt: 'dogs', resolution: '4k', aspectRatio: '9:16' }
    const { response } = await make('a picture', { image, more })
    assert.equal(response?.generatedVideos?.length, 1)
  })

  it('fails, and refuses content', async () => {
    upstream.setFaults({
      next: [
        { fault: 'poll-failed', prompt: 'fails' },
        { fault: 'poll-policy', prompt: 'refused' },
      ],
    })
    assert.equal((await make('fails')).error?.code, 13)
    const { response } = await make('refused')
    assert.deepEqual([response?.generatedVideos, response?.raiMediaFilteredCount], [undefined, 1])
    assert.match(response?.raiMediaFilteredReasons?.[0] ?? '', /Support codes: \d+/)
  })

  it('reports mistakes in a request and a token', async () => {
    const fails = (work: Promise<unknown>, status: number, text: RegExp) =>
      assert.rejects(work, (error: Error & { status?: number }) => {
        assert.equal(error.status, status)
        assert.match(error.message, text)
        return true
      })
    const submit = (more: object, by = client) =>
      by.models.generateVideos({ model, source: { prompt: 'wrong' }, config: { ...config, ...more } })
    await fails(submit({ durationSeconds: 5 }), 400, /durationSeconds/)
    await fails(submit({ durationSeconds: '4' }), 400, /needs to be a number/)
    await fails(submit({ aspectRatio: '1:1' }), 400, /aspectRatio/)
    await fails(
      client.models.generateVideos({ model: 'veo-3.0-generate-001', source: { prompt: 'old' } }),
      404,
      /not found/,
    )
    await fails(
      submit({}, clientFor({ ...newServiceAccount(), private_key_id: account.private_key_id })),
      401,
      /signature/,
    )
    await fails(submit({}, clientFor(account, 'https://www.googleapis.com/auth/drive')), 401, /scope/)
    await fails(submit({}, clientFor({ ...account, client_email: 'other@example.com' })), 401, /UNAUTHENTICATED/)
    assert.equal(
      upstream.ledger().accepts.some(({ prompt }) => prompt === 'wrong'),
      false,
    )
  })

  it("works with Vercel's client too", async () => {
    const baseURL = `${upstream.url}/v1beta1/projects/${place.project}/locations/${place.location}/publishers/google`
    const video = createVertex({ ...place, baseURL, googleAuthOptions: { authClient: signing(account) } }).video(model)
    const asked = {
      prompt: 'a paper boat',
      n: 1,
      aspectRatio: '16:9',
      duration: 4,
      resolution: '1280x720',
      seed: 7,
    } as const
    const options = { ...asked, fps: undefined, image: undefined, providerOptions: {} }
    const { operation } = (await video.doStart?.(options as never)) ?? {}
    let result = await video.doStatus?.({ operation } as never)
    while (result?.status === 'pending') {
      await sleep(10)
      result = await video.doStatus?.({ operation } as never)
    }
    assert.ok(result?.status === 'completed')
    const [film] = result.videos
    assert.ok(film?.type === 'base64')
    assert.deepEqual(withoutMark(Buffer.from(film.data, 'base64')), tinyFilm)
  })
})

/** Google's own library, set to sign its tokens itself instead of requesting one. */
function signing(account: ServiceAccount, scope = 'https://www.googleapis.com/auth/cloud-platform'): JWT {
  const { client_email: email, private_key: key, private_key_id: keyId } = account
  const client = new JWT({ email, key, keyId, scopes: [scope] })
  client.useJWTAccessWithScope = true
  const getAccessToken = async () => {
    const headers = await client.getRequestHeaders()
    return { token: headers.get('authorization')?.replace('Bearer ', '') ?? null }
  }
  return Object.assign(client, { getAccessToken })
}
