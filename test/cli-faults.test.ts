import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { addTask, type FakeApi, filmBytes, runCli, send, startCli, startFakeApi } from '../src/cli/cli.fixture.ts'

/* The command line against servers that misbehave, or are not ours. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-cli-'))
after(() => rmSync(root, { recursive: true }))
const newFolder = () => mkdtempSync(join(root, 'x-'))
const envFor = ({ url }: FakeApi) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'sk-test' })
const submits = ({ requests }: FakeApi) => requests.filter((line) => line === 'POST /v1/videos').length

describe('generate', () => {
  it('goes on through 429, 503 and a film that is cut short, and writes it only when it is whole', async () => {
    let polls = 0
    let downloads = 0
    let refusals = 0
    const cwd = newFolder()
    await using api = await startFakeApi((request, response) => {
      if (request.method === 'POST' && ++refusals === 1)
        return send(response, 429, { error: { message: 'too many' } }, { 'retry-after-ms': '1' })
      if (/videos\/[^/]+$/.test(request.url ?? '') && ++polls < 3)
        return send(response, 503, { error: { message: 'not now' } }, { 'retry-after': '0' })
      if (!request.url?.endsWith('/content') || ++downloads > 1) return false
      response.writeHead(200, { 'content-length': '100' }).write(filmBytes, () => response.destroy())
      return true
    })
    const { code, stdout, stderr } = await runCli(['generate', 'x', '-o', 'x.mp4'], { env: envFor(api), cwd })
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'x.mp4\n')
    assert.match(stderr, /again in 1 s: 429: too many/)
    assert.match(stderr, /again in 1 s: 503: not now/)
    assert.match(stderr, /the connection broke/)
    assert.deepEqual(readFileSync(join(cwd, 'x.mp4')), filmBytes)
    assert.deepEqual(readdirSync(cwd), ['x.mp4'])
    assert.equal(api.tasks.length, 1)
  })

  it('never repeats a submit whose outcome is unknown, and says so', async () => {
    for (const fault of ['500', 'reset', 'nonsense']) {
      await using api = await startFakeApi((request, response) => {
        if (request.method !== 'POST') return false
        if (fault === '500') return send(response, 500, { error: { message: 'oops' } })
        if (fault === 'nonsense') response.end('hello')
        else response.destroy()
        return true
      })
      const { code, stderr, stdout } = await runCli(['generate', 'x', '--json'], { env: envFor(api), cwd: newFolder() })
      assert.equal(code, 1)
      assert.match(
        stderr,
        /it is unknown whether the server accepted the video: [\s\S]*not sent again[\s\S]*filmgate list/,
      )
      assert.match(JSON.parse(stdout).error.message, /is unknown/)
      assert.equal(submits(api), 1)
    }
  })

  it('a signal during the download leaves no partial file', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi((request, response) => {
      if (!request.url?.endsWith('/content')) return false
      response.writeHead(200, { 'content-length': '100' }).write(filmBytes)
      return true
    })
    await using run = startCli(['generate', 'x', '-o', 'x.mp4'], { env: envFor(api), cwd })
    while (!readdirSync(cwd).some((name) => name.endsWith('.part')))
      await new Promise((resolve) => setImmediate(resolve))
    run.child.kill('SIGINT')
    const { code, stderr } = await run.exit
    assert.equal(code, 130)
    assert.match(stderr, /filmgate download video_00000000 -o x\.mp4/)
    assert.deepEqual(readdirSync(cwd), [])
  })

  it('a redirect of a submit is not followed', async () => {
    await using api = await startFakeApi((request, response) => {
      if (request.method !== 'POST') return false
      response.writeHead(302, { location: 'https://elsewhere.example/v1/videos' }).end()
      return true
    })
    const { code, stderr } = await runCli(['generate', 'x'], { env: envFor(api), cwd: newFolder() })
    assert.equal(code, 1)
    assert.match(stderr, /redirects to https:\/\/elsewhere\.example\nUse that as --base-url/)
  })
})

describe('batch, after a submit without a response', () => {
  /** A batch that is killed while the server does not respond; it may have accepted the video. */
  async function killedInSubmit(
    api: FakeApi,
    cwd: string,
    { taken, list = 'a fox\n' }: { taken: boolean; list?: string },
  ): Promise<void> {
    const asked = Promise.withResolvers<void>()
    api.handle = (request, _response, body) => {
      if (request.method !== 'POST') return false
      if (taken) addTask(api, body)
      asked.resolve()
      return true
    }
    writeFileSync(join(cwd, 'prompts.txt'), list)
    await using run = startCli(['batch', 'prompts.txt', '-o', 'out'], { env: envFor(api), cwd })
    await asked.promise
    run.child.kill('SIGKILL')
    await run.exit
    api.handle = () => false
  }

  /** Makes the last submit in the journal of the folder older. */
  function age(cwd: string, ms: number): void {
    const path = join(cwd, 'out', '.filmgate-batch.jsonl')
    const last = /(?<="time":)\d+(?=[^\n]+\n$)/
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(last, (time) => String(Number(time) - ms)),
    )
  }

  const resume = (api: FakeApi, cwd: string, ...more: string[]) =>
    runCli(['batch', 'prompts.txt', '-o', 'out', ...more], { env: envFor(api), cwd })

  it('adopts the one that the server lists', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi()
    await killedInSubmit(api, cwd, { taken: true })
    const { code, stderr } = await resume(api, cwd)
    assert.equal(code, 0, stderr)
    assert.equal(submits(api), 1)
    assert.equal(api.tasks.length, 1)
  })

  it('submits what is not there, under the same key and as the repeat that it is', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi()
    await killedInSubmit(api, cwd, { taken: false })
    const { code, stderr } = await resume(api, cwd)
    assert.equal(code, 0, stderr)
    assert.equal(api.keys.length, 2)
    assert.equal(api.keys[0], api.keys[1])
    assert.deepEqual(api.retries, [undefined, '1'])
    assert.equal(api.tasks.length, 1)
  })

  it('makes nothing twice on a Filmgate that is still busy with it', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi()
    await killedInSubmit(api, cwd, { taken: false })
    age(cwd, 10_000)
    api.handle = (request, response, body) => {
      if (request.method !== 'POST') return false
      // The first try is finished only now.
      const first = addTask(api, body)
      return send(response, 200, request.headers['x-stainless-retry-count'] === '1' ? first : addTask(api, body))
    }
    const { code, stderr } = await resume(api, cwd)
    assert.equal(code, 0, stderr)
    assert.equal(api.tasks.length, 1)
  })

  it('does not adopt the video of another line with the same request', async () => {
    const cwd = newFolder()
    const prompts = join(cwd, 'prompts.txt')
    await using api = await startFakeApi()
    writeFileSync(prompts, 'a fox\n')
    assert.equal((await resume(api, cwd)).code, 0)
    await killedInSubmit(api, cwd, { taken: false, list: 'a fox\na fox\n' })
    age(cwd, 10_000)
    api.handle = (request, response) =>
      request.headers['x-stainless-retry-count'] !== undefined && send(response, 200, api.tasks[0])
    const { code, stderr } = await resume(api, cwd)
    assert.equal(code, 0, stderr)
    assert.equal(api.tasks.length, 2)
    assert.equal(readdirSync(join(cwd, 'out')).filter((name) => name.endsWith('.mp4')).length, 2)
  })

  it('calls it no repeat when a quarter of an hour has passed', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi()
    await killedInSubmit(api, cwd, { taken: false })
    age(cwd, 16 * 60_000)
    assert.equal((await resume(api, cwd)).code, 0)
    assert.deepEqual(api.retries, [undefined, undefined])
  })

  it('asks a person where several could be it, or there is no list', async () => {
    for (const fault of ['several', 'no list']) {
      const cwd = newFolder()
      await using api = await startFakeApi()
      await killedInSubmit(api, cwd, { taken: true })
      if (fault === 'several') addTask(api, JSON.stringify({ prompt: 'a fox', model: 'fake' }))
      else {
        api.handle = (request, response) =>
          request.method === 'GET' && /videos\?/.test(request.url ?? '') ? send(response, 405, {}) : false
      }
      const unsure = await resume(api, cwd)
      assert.equal(unsure.code, 1, unsure.stderr)
      assert.match(unsure.stdout, /unknown/)
      assert.match(unsure.stderr, /--resubmit-unknown/)
      assert.equal(submits(api), 1)
      const told = await resume(api, cwd, '--resubmit-unknown')
      assert.equal(told.code, 0, told.stderr)
      assert.equal(submits(api), 2)
    }
  })

  it('a failed video is exit code 3, stays failed, and is created again only on request', async () => {
    const cwd = newFolder()
    let failing = true
    await using api = await startFakeApi((request, response) => {
      const failed = failing && /videos\/[^/]+$/.test(request.url ?? '')
      return failed && send(response, 200, { id: 'video_00000000', status: 'failed', error: { message: 'no foxes' } })
    })
    writeFileSync(join(cwd, 'prompts.txt'), 'a fox\n')
    for (const _ of [1, 2]) {
      const { code, stdout } = await resume(api, cwd)
      assert.equal(code, 3)
      assert.match(stdout, /failed .*no foxes/)
    }
    assert.equal(submits(api), 1)
    failing = false
    assert.equal((await resume(api, cwd, '--retry-failed')).code, 0)
    assert.equal(submits(api), 2)
  })

  it('stops submitting when the server keeps failing, and goes on another time', async () => {
    const cwd = newFolder()
    let down = true
    await using api = await startFakeApi(
      (request, response) =>
        down && request.method === 'POST' && send(response, 502, { error: { message: 'bad gateway' } }),
    )
    writeFileSync(join(cwd, 'prompts.txt'), Array.from({ length: 8 }, (_, at) => `film ${at}`).join('\n'))
    const first = await resume(api, cwd, '-n', '1')
    assert.equal(first.code, 1)
    assert.equal(submits(api), 3)
    down = false
    const { code, stderr } = await resume(api, cwd)
    assert.equal(code, 0, stderr)
    assert.equal(api.tasks.length, 8)
  })
})
