import assert from 'node:assert/strict'
import { createVerify, randomBytes, randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { downloadFaults, startUpstream } from '../../simulators/upstream.ts'
import { newServiceAccount, vertexWire } from '../../simulators/vertex.ts'
import { openOutbound } from '../outbound.ts'
import { picture, testNetworkProvider } from './contract.ts'
import type { Fields } from './kit/index.ts'
import type { Call, ProviderRequest } from './provider.ts'
import { toUpstream, vertex } from './vertex.ts'

const account = newServiceAccount()
const key = JSON.stringify(account)
const request: ProviderRequest = {
  model: 'veo-3.1-generate-001',
  prompt: 'a red fox',
  seconds: 8,
  size: { width: 1280, height: 720 },
  parameters: { seed: 7, negative_prompt: 'dogs', audio: false },
  image: null,
}
const wide = { model: 'veo-3.1-fast-generate-001', seconds: 6, size: { width: 3840, height: 2160 }, parameters: {} }
const tall = { model: 'veo-3.1-lite-generate-001', seconds: 4, size: { width: 1080, height: 1920 }, parameters: {} }
const requests = [
  request,
  { ...request, ...wide, prompt: 'a red fox, from a picture', image: picture },
  { ...request, ...tall, prompt: 'a red fox, from another picture', image: picture },
] as const

testNetworkProvider('vertex', {
  member: vertex,
  wire: () => vertexWire(account),
  key,
  requests,
  without: Object.fromEntries(downloadFaults.map(({ name }) => [name, 'the film comes with a poll'])),
})

describe('the words of the vertex provider', () => {
  const name = 'projects/p/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/7f0c'

  it('are the fields of Veo', () => {
    assert.deepEqual(toUpstream(request), {
      instances: [{ prompt: 'a red fox' }],
      parameters: {
        sampleCount: 1,
        durationSeconds: 8,
        aspectRatio: '16:9',
        resolution: '720p',
        seed: 7,
        negativePrompt: 'dogs',
        generateAudio: false,
      },
    })
    const image = { bytesBase64Encoded: picture.bytes.toString('base64'), mimeType: 'image/png' }
    assert.deepEqual(toUpstream(requests[2]), {
      instances: [{ prompt: 'a red fox, from another picture', image }],
      parameters: { sampleCount: 1, durationSeconds: 4, aspectRatio: '9:16', resolution: '1080p' },
    })
  })

  it('are signed for an hour by our clock, with the key of the account', async () => {
    const provider = await vertex.create({ folder: '', media: undefined as never })
    let seen: Parameters<Call['fetch']> | undefined
    const call = callOf({
      now: () => 1_700_000_000_999,
      async fetch(...asked) {
        seen = asked
        return Response.json({})
      },
    })
    await provider.check?.(call)
    assert.equal(seen?.[0], '/v1/projects/film-project-1/locations/us-central1/models?pageSize=1')
    const [head = '', claims = '', signature = ''] = (seen?.[1].headers?.authorization ?? '').slice(7).split('.')
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Fields
    assert.deepEqual(read(head), { alg: 'RS256', typ: 'JWT', kid: account.private_key_id })
    const { client_email: email } = account
    const scope = 'https://www.googleapis.com/auth/cloud-platform'
    assert.deepEqual(read(claims), { iss: email, sub: email, scope, iat: 1_700_000_000, exp: 1_700_003_600 })
    const verifier = createVerify('RSA-SHA256').update(`${head}.${claims}`)
    assert.equal(verifier.verify(account.private_key, signature, 'base64url'), true)
  })

  it('get 401 if our clock is wrong by hours', async () => {
    await using upstream = await startUpstream({ wire: vertexWire(account) })
    await using outbound = openOutbound({ allow: ['127.0.0.1'] })
    const provider = await vertex.create({ folder: '', media: undefined as never })
    const statuses = [-7_200_000, 0, 7_200_000].map(async (wrong) => {
      const call = callOf({ ...outbound.upstream(upstream.url), now: () => Date.now() + wrong })
      return (await provider.check?.(call))?.status
    })
    assert.deepEqual(await Promise.all(statuses), [401, 200, 401])
  })

  it('are not sent with an invalid key', async () => {
    const provider = await vertex.create({ folder: '', media: undefined as never })
    for (const credential of [null, 'sk-1', '{}', JSON.stringify({ ...account, private_key: 'x' })]) {
      const answer = await provider.submit(request, callOf({ credential }))
      assert.ok('refused' in answer)
      assert.equal(answer.refused.blame, 'account')
      await assert.rejects(provider.poll(name, callOf({ credential })), { code: 'provider_unavailable' })
      await assert.rejects(provider.check?.(callOf({ credential })) ?? assert.fail(), { code: 'generation_failed' })
    }
  })

  it('are read however the video ended', async () => {
    const provider = await vertex.create({ folder: '', media: undefined as never })
    const poll = (body: object, status = 200) =>
      provider.poll(name, callOf({ download: async () => Response.json({ name, ...body }, { status }) }))
    const ends = [
      [{ error: { code: 3, message: 'It violates the rules. Support codes: 1' } }, 'content_policy'],
      [{ error: { code: 8, message: 'High load.' } }, 'generation_failed'],
      [{ response: { raiMediaFilteredCount: 1 } }, 'content_policy'],
      [{ response: {} }, 'content_policy'],
    ] as const
    for (const [body, code] of ends) {
      const progress = await poll({ done: true, ...body })
      assert.ok(progress.status === 'failed')
      assert.equal(progress.problem.code, code)
    }
    for (const body of [{ done: true }, { done: true, response: { videos: [{ gcsUri: 'gs://a/b' }] } }])
      await assert.rejects(poll(body), { code: 'provider_unavailable' })
    await assert.rejects(poll({ error: { code: 403 } }, 403), { code: 'provider_unavailable' })
  })

  it('do not hold a long video in memory', async () => {
    const film = join(tmpdir(), `${randomUUID()}.mp4`)
    const bytes = randomBytes(9 * 2 ** 20)
    await writeFile(film, bytes)
    await using upstream = await startUpstream({ wire: vertexWire(account), speed: 0, film })
    await using outbound = openOutbound({ allow: ['127.0.0.1'] })
    await rm(film)
    const provider = await vertex.create({ folder: '', media: undefined as never })
    const call = callOf(outbound.upstream(upstream.url))
    const submitted = await provider.submit(request, call)
    assert.ok('operation' in submitted)
    const progress = await provider.poll(submitted.operation, call)
    assert.ok(progress.status === 'succeeded')
    assert.ok(JSON.stringify(progress.output).length < 500)
    const { body } = await provider.download(progress.output, call)
    assert.ok(body)
    assert.equal(bytes.equals(await buffer(body)), true)
  })

  it('return the video inside a poll, and need a new poll if it is missing', async () => {
    const provider = await vertex.create({ folder: '', media: undefined as never })
    const output = { inside: name, at: ['response', 'videos', 0, 'bytesBase64Encoded'] }
    const download = (body: object, status = 200) =>
      provider.download(output, callOf({ download: async () => Response.json({ name, ...body }, { status }) }))
    const { body } = await download({
      response: { videos: [{ bytesBase64Encoded: 'QUJD' }, { bytesBase64Encoded: 'x' }] },
    })
    assert.ok(body)
    assert.equal(String(await buffer(body)), 'ABC')
    await assert.rejects(download({}), { code: 'output_unavailable' })
    await assert.rejects(download({}, 404), { code: 'output_unavailable' })
    for (const status of [401, 429, 500]) await assert.rejects(download({}, status), { code: 'provider_unavailable' })
  })
})

function callOf(more: Partial<Call> = {}): Call {
  const never = async () => assert.fail('nothing is to be sent')
  return {
    send: never,
    fetch: never,
    download: never,
    signal: new AbortController().signal,
    attemptId: 'att_0',
    credential: key,
    now: () => Date.now(),
    ...more,
  }
}
