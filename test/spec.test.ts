import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startService, type TestService, token } from './service.ts'

/* One test for every sentence of the interface specification that can be tested, under the number of its section. */

type Task = Record<string, unknown>
const small = { model: 'studio', prompt: 'a red fox in snow', seconds: '1', size: '256x256' }
let service: TestService
let queued: Task
let completed: Task
let failed: Task

before(async () => {
  // A closed port: a reference image there can never be downloaded, so its task fails.
  service = await startService({ yaml: 'outbound: { allow: [127.0.0.1] }\naliases: { fast: studio }' })
  const answers = await Promise.all([
    service.submit(small),
    service.submit({ ...small, image: 'http://127.0.0.1:9/a.png' }),
  ])
  const [good, bad] = (await Promise.all(answers.map((answer) => answer.json()))) as [Task, Task]
  queued = good
  completed = await service.finish(String(good.id))
  failed = await service.finish(String(bad.id))
})
after(() => service[Symbol.asyncDispose]())

const json = async (response: Response) => (await response.json()) as Task

describe('1 What the service does', () => {
  it('1.1 generates video from a text prompt', async () => {
    assert.equal(completed.status, 'completed')
  })
  it('1.1 can also use a reference image', async () => {
    const task = await json(await service.submit({ ...small, image: await pngBase64() }))
    assert.equal((await service.finish(String(task.id))).status, 'completed')
  })
  it('1.2 submit answers with a task identifier, polling ends in completed, and then the content is there', async () => {
    assert.equal(typeof queued.id, 'string')
    const content = await service.fetch(`/v1/videos/${queued.id}/content`)
    assert.equal(content.status, 200)
    assert.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
  })
  it('1.4 the models available to a token can be listed', async () => {
    const list = await json(await service.fetch('/v1/models'))
    assert.deepEqual(
      (list.data as Task[]).map(({ id }) => id),
      ['studio', 'fast'],
    )
  })
})

describe('2.1 Submit request body', () => {
  for (const field of ['model', 'prompt']) {
    it(`${field} is required`, async () => {
      const answer = await service.submit({ ...small, [field]: undefined })
      const { error } = (await answer.json()) as { error: Task }
      assert.deepEqual([answer.status, error.param, error.code], [400, field, 'missing_required_parameter'])
    })
  }
  it('seconds is sent as a string', async () => {
    assert.equal((await json(await service.submit({ ...small, seconds: '2' }))).seconds, '2')
  })
  it('size is <width>x<height>', async () => {
    for (const size of ['1280x720', '1920x1080', '256x1920']) {
      assert.equal((await json(await service.submit({ ...small, size }))).size, size)
    }
  })
  it('image is given as a URL or as base64 data', async () => {
    const base64 = await pngBase64()
    for (const image of ['http://127.0.0.1:9/a.png', base64, `data:image/png;base64,${base64}`]) {
      assert.equal((await service.submit({ ...small, image })).status, 200)
    }
  })
  it('only model and prompt are needed, and seconds and size are answered all the same', async () => {
    const task = await json(await service.submit({ model: 'studio', prompt: 'x' }))
    assert.deepEqual([task.seconds, task.size], ['4', '1280x720'])
  })
})

describe('2.2 Video task object', () => {
  const always = {
    id: 'string',
    object: 'string',
    model: 'string',
    status: 'string',
    progress: 'number',
    created_at: 'number',
    seconds: 'string',
    size: 'string',
  }
  it('every field that is always there is, with its type, in every status', () => {
    for (const task of [queued, completed, failed]) {
      for (const [field, type] of Object.entries(always))
        assert.equal(typeof task[field], type, `${field} of ${task.status}`)
      assert.equal(task.object, 'video')
      for (const number of [task.progress, task.created_at]) assert.ok(Number.isInteger(number))
    }
  })
  it('model is the identifier that was asked for, an alias too', async () => {
    assert.equal(completed.model, 'studio')
    assert.equal((await json(await service.submit({ ...small, model: 'fast' }))).model, 'fast')
  })
  it('created_at is a Unix timestamp in seconds', () => {
    const now = Date.now() / 1000
    assert.ok(Number(queued.created_at) > now - 600 && Number(queued.created_at) <= now)
  })
  it('progress is 0 on a newly queued task and 100 on a completed one', () => {
    assert.deepEqual([queued.progress, completed.progress], [0, 100])
  })
  it('completed_at and expires_at are there when completed, in whole seconds, and the second is later', () => {
    assert.ok(Number.isInteger(completed.completed_at) && Number.isInteger(completed.expires_at))
    assert.ok(Number(completed.expires_at) > Number(completed.completed_at))
    assert.ok(Number(completed.completed_at) >= Number(completed.created_at))
    for (const task of [queued, failed]) assert.ok(!('completed_at' in task) && !('expires_at' in task))
  })
  it('error is there when failed, and only then', () => {
    assert.ok('error' in failed)
    for (const task of [queued, completed]) assert.ok(!('error' in task))
  })
  it('seconds and size say what was asked for', () => {
    assert.deepEqual([completed.seconds, completed.size], ['1', '256x256'])
  })
})

describe('3 States and transitions', () => {
  it('a task goes queued, in_progress, completed, never back, and its progress never falls', async () => {
    const order = ['queued', 'in_progress', 'completed']
    let last = await json(await service.submit({ ...small, seconds: '8' }))
    assert.deepEqual([last.status, last.progress], ['queued', 0])
    const seen = new Set<unknown>([last.status])
    while (last.status !== 'completed') {
      // Polls without a pause would take the CPU from the renderer, which has the lowest priority.
      await setTimeout(20)
      const now = await json(await service.fetch(`/v1/videos/${last.id}`))
      assert.ok(order.indexOf(String(now.status)) >= order.indexOf(String(last.status)))
      assert.ok(Number(now.progress) >= Number(last.progress))
      if (now.status !== 'completed') assert.ok(Number(now.progress) < 100)
      seen.add(now.status)
      last = now
    }
    assert.deepEqual([...seen], order)
  })
  it('a failed task describes its failure, keeps its progress below 100, and stays as it is', async () => {
    assert.equal(failed.status, 'failed')
    const { code, message } = failed.error as Task
    assert.equal(code, 'image_unavailable')
    assert.ok(typeof message === 'string' && message.length > 0)
    assert.ok(Number(failed.progress) < 100)
    assert.deepEqual(await json(await service.fetch(`/v1/videos/${failed.id}`)), failed)
  })
})

describe('4 Endpoints', () => {
  it('4.1 POST /v1/videos answers 200 with a queued task and progress 0', async () => {
    const answer = await service.submit(small)
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    const task = await json(answer)
    assert.deepEqual([task.status, task.progress], ['queued', 0])
  })
  it('4.2 GET /v1/videos/{video_id} answers with the task object', async () => {
    const answer = await service.fetch(`/v1/videos/${completed.id}`)
    assert.equal(answer.status, 200)
    assert.deepEqual(await json(answer), completed)
  })
  it('4.3 GET /v1/videos/{video_id}/content answers with the binary video', async () => {
    const answer = await service.fetch(`/v1/videos/${completed.id}/content`)
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'video/mp4'])
    const bytes = await answer.arrayBuffer()
    assert.equal(Number(answer.headers.get('content-length')), bytes.byteLength)
  })
  it('4.3 before completion there is no content yet, and of a failed task there never is', async () => {
    const task = await json(await service.submit({ ...small, seconds: '20' }))
    const early = await service.fetch(`/v1/videos/${task.id}/content`)
    assert.deepEqual([early.status, ((await json(early)).error as Task).code], [404, 'video_not_ready'])
    await service.fetch(`/v1/videos/${task.id}`, { method: 'DELETE' })
    const never = await service.fetch(`/v1/videos/${failed.id}/content`)
    assert.deepEqual([never.status, ((await json(never)).error as Task).code], [404, 'video_failed'])
  })
  it('4.4 GET /v1/models lists the models in the shape that SDKs read', async () => {
    const list = await json(await service.fetch('/v1/models'))
    assert.equal(list.object, 'list')
    const [model] = list.data as Task[]
    assert.deepEqual([model?.id, model?.object, model?.owned_by], ['studio', 'model', 'studio'])
    assert.ok(Number.isInteger(model?.created))
    assert.deepEqual(model?.seconds, { min: '1', max: '20', default: '4' })
    assert.deepEqual(model?.size, { min_side: 256, max_side: 1920, multiple_of: 2, default: '1280x720' })
    assert.equal(model?.image, 'optional')
  })
})

describe('5 Authentication', () => {
  const routes = ['/v1/models', '/v1/models/studio', '/v1/videos/video_0', '/v1/videos/video_0/content']
  it('5.1 every request carries Authorization: Bearer, or is refused', async () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Bearer wrong',
      token,
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
    ]) {
      for (const route of routes) {
        const answer = await service.fetch(route, { headers: { authorization } })
        assert.deepEqual(
          [answer.status, ((await json(answer)).error as Task).code],
          [401, 'invalid_api_key'],
          `${authorization} ${route}`,
        )
      }
      assert.equal((await service.submit(small, { authorization })).status, 401)
    }
    assert.equal((await fetch(`${service.url}/v1/models`)).status, 401)
  })
  it('5.1 the scheme is written in any case, and a token may contain spaces', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      assert.equal(
        (await service.fetch('/v1/models', { headers: { authorization: `${scheme} ${token}` } })).status,
        200,
      )
    }
  })
})

describe('7 Errors', () => {
  it('7.1 a failed task shows status failed and an error that describes it', () => {
    assert.deepEqual(Object.keys(failed.error as Task).sort(), ['code', 'message'])
  })
  it('7.3 a refused request gets the envelope with message, type, param and code, and a request id', async () => {
    const answer = await service.submit({ ...small, seconds: '99' })
    const { error } = (await answer.json()) as { error: Task }
    assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/)
  })
})

describe('8 Limits', () => {
  it('an unfinished task says when to poll again', async () => {
    const task = await json(await service.submit({ ...small, seconds: '20' }))
    const answer = await service.fetch(`/v1/videos/${task.id}`)
    assert.ok(Number(answer.headers.get('openai-poll-after-ms')) >= 500)
    await service.fetch(`/v1/videos/${task.id}`, { method: 'DELETE' })
    assert.equal((await service.fetch(`/v1/videos/${completed.id}`)).headers.get('openai-poll-after-ms'), null)
  })
})

describe('9 Versioning', () => {
  it('9.1 every operation is under /v1, and nothing is elsewhere', async () => {
    for (const path of ['/videos', '/models', '/', '/v2/models', '/v1', '/v1/nothing']) {
      const answer = await service.fetch(path)
      assert.deepEqual([answer.status, ((await json(answer)).error as Task).code], [404, 'unknown_url'], path)
    }
  })
})

async function pngBase64(): Promise<string> {
  const { createCanvas } = await import('@napi-rs/canvas')
  const canvas = createCanvas(64, 48)
  canvas.getContext('2d').fillRect(8, 8, 20, 20)
  return (await canvas.encode('png')).toString('base64')
}
