import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import type * as newest from 'openai-7.53'
import { startService, type TestService, token } from './service.ts'

const film = { model: 'studio', prompt: 'a lighthouse in a storm', seconds: '1', size: '256x256' } as const

/** An official SDK, unchanged, against the service. The packages have different types; these are those of the newest. */
export function testSdk(version: string, sdk: typeof newest): void {
  describe(`openai ${version}`, () => {
    let service: TestService
    let png: Buffer
    const folder = mkdtempSync(join(tmpdir(), 'filmgate-sdk-'))
    const file = join(folder, 'reference.png')

    before(async () => {
      service = await startService({
        yaml: 'aliases: { sora-2: studio, acme/video: studio }\noutbound: { allow: [127.0.0.1] }',
      })
      const canvas = createCanvas(320, 200)
      canvas.getContext('2d').fillRect(20, 20, 200, 100)
      png = await canvas.encode('png')
      writeFileSync(file, png)
    })
    after(async () => {
      await service[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    })

    const client = (apiKey = token) => new sdk.OpenAI({ apiKey, baseURL: `${service.url}/v1`, maxRetries: 0 })
    type Params = Parameters<ReturnType<typeof client>['videos']['create']>[0]
    const create = (params: Record<string, unknown>) =>
      client().videos.create({ ...film, ...params } as unknown as Params)

    it('create from text, retrieve until completed, download', async () => {
      const openai = client()
      const made = await create({})
      assert.deepEqual(
        [made.object, made.status, made.progress, made.seconds, made.size, made.prompt],
        ['video', 'queued', 0, '1', '256x256', film.prompt],
      )
      const video = await service.finish(made.id).then(() => openai.videos.retrieve(made.id))
      assert.deepEqual([video.status, video.progress], ['completed', 100])
      const bytes = Buffer.from(await (await openai.videos.downloadContent(video.id)).arrayBuffer())
      assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
    })

    it('what does not apply yet is null, as its types promise', async () => {
      const made = await create({})
      for (const field of ['completed_at', 'expires_at', 'error', 'remixed_from_video_id'] as const) {
        assert.equal(made[field], null, field)
      }
    })

    it('create with a file, a stream, an image_url as data, and text of it', async () => {
      const data = `data:image/png;base64,${png.toString('base64')}`
      const references: Record<string, () => unknown> = {
        file: () => sdk.toFile(png, 'reference.png', { type: 'image/png' }),
        'file without a type': () => sdk.toFile(png),
        stream: () => createReadStream(file),
        image_url: () => ({ image_url: data }),
        text: () => data,
      }
      for (const [kind, reference] of Object.entries(references)) {
        const made = await create({ input_reference: await reference() })
        assert.equal((await service.finish(made.id)).status, 'completed', kind)
      }
    })

    it('an alias is echoed, and a number of seconds is taken', async () => {
      const made = await create({ model: 'sora-2', seconds: 2 })
      assert.deepEqual([made.model, made.seconds], ['sora-2', '2'])
    })

    it('models.list and models.retrieve, with a slash in the id too', async () => {
      const ids: string[] = []
      for await (const model of client().models.list()) ids.push(model.id)
      assert.deepEqual(ids, ['studio', 'sora-2', 'acme/video'])
      assert.equal((await client().models.retrieve('acme/video')).id, 'acme/video')
    })

    it('each error is of the class that the SDK has for it, with its code, param and request id', async () => {
      const { BadRequestError, AuthenticationError, NotFoundError, APIError } = sdk.OpenAI
      const failures: [() => Promise<unknown>, new (...args: never[]) => Error, number, string, string | null][] = [
        [() => client('wrong').models.list(), AuthenticationError, 401, 'invalid_api_key', null],
        [() => create({ model: 'nothing' }), NotFoundError, 404, 'model_not_found', 'model'],
        [() => create({ seconds: '99' }), BadRequestError, 400, 'invalid_value', 'seconds'],
        [() => create({ size: '1x1' }), BadRequestError, 400, 'invalid_value', 'size'],
        [() => create({ prompt: undefined }), BadRequestError, 400, 'missing_required_parameter', 'prompt'],
        [() => create({ durtion: 3 }), BadRequestError, 400, 'unknown_parameter', 'durtion'],
        [
          () => create({ input_reference: { image_url: 'http://10.0.0.1/a.png' } }),
          BadRequestError,
          400,
          'invalid_image_url',
          'input_reference.image_url',
        ],
        [
          async () => create({ input_reference: await sdk.toFile(Buffer.from('GIF89a'), 'a.png') }),
          BadRequestError,
          400,
          'invalid_image',
          'input_reference',
        ],
        [
          async () => create({ input_reference: await sdk.toFile(Buffer.alloc(21 * 2 ** 20), 'a.png') }),
          APIError,
          413,
          'body_too_large',
          null,
        ],
        [() => client().videos.retrieve('video_none'), NotFoundError, 404, 'video_not_found', 'video_id'],
        [() => client().videos.retrieve('video/../x y'), NotFoundError, 404, 'video_not_found', 'video_id'],
        [
          async () => {
            const { id } = await create({ seconds: '20' })
            await client()
              .videos.downloadContent(id)
              .finally(() => client().videos.delete(id))
          },
          NotFoundError,
          404,
          'video_not_ready',
          null,
        ],
      ]
      for (const [act, kind, status, code, param] of failures) {
        await assert.rejects(act, (error: InstanceType<typeof APIError>) => {
          assert.ok(error instanceof kind, `${code}: ${error.constructor.name} ${error.message}`)
          assert.deepEqual([error.status, error.code, error.param], [status, code, param])
          assert.match(error.requestID ?? '', /^req_/)
          return true
        })
      }
    })
  })
}
