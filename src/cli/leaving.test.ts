import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { addTask, type FakeApi, runCli, send, startCli, startFakeApi } from './cli.fixture.ts'
import { generate } from './create.ts'
import { Interrupted } from './failure.ts'
import { openTerminal } from './terminal.ts'

/* What signals do, and when. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-leaving-'))
after(() => rmSync(root, { recursive: true }))
const newFolder = () => mkdtempSync(join(root, 'x-'))
const envFor = ({ url }: FakeApi) => ({ FILMGATE_BASE_URL: url, FILMGATE_TOKEN: 'fg' })
const submits = ({ requests }: FakeApi) => requests.filter((line) => line === 'POST /v1/videos').length

/** A server that keeps a submit waiting until the test answers it. */
async function slowApi() {
  const asked = Promise.withResolvers<{ response: ServerResponse; body: string }>()
  const api = await startFakeApi((request, response, body) => {
    if (request.method === 'POST') asked.resolve({ response, body })
    return request.method === 'POST'
  })
  return Object.assign(api, { asked: asked.promise })
}

const busyApi = () =>
  startFakeApi(
    (request, response) =>
      request.method === 'POST' && send(response, 429, { error: { message: 'too many' } }, { 'retry-after': '60' }),
  )

describe('generate', () => {
  it('submits nothing more after a signal', async () => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      await using api = await busyApi()
      await using run = startCli(['generate', 'x'], { env: envFor(api), cwd: newFolder() })
      await run.says(/again in 60 s/)
      run.child.kill(signal)
      const { code, stderr } = await run.exit
      assert.equal(code, 130)
      assert.match(stderr, /interrupted; no video was created\n/)
      assert.equal(submits(api), 1)
    }
  })

  it('waits for the response to a submit, says so, and then how to fetch the video', async () => {
    await using api = await slowApi()
    await using run = startCli(['generate', 'x'], { env: envFor(api), cwd: newFolder() })
    const { response, body } = await api.asked
    run.child.kill('SIGINT')
    await run.says(/waiting for the response to the submit; a second signal ends at once\n/)
    const task = addTask(api, body)
    task.status = 'queued'
    send(response, 200, task)
    const { code, stderr } = await run.exit
    assert.equal(code, 130)
    assert.match(stderr, new RegExp(`filmgate download ${task.id}\n`))
  })

  it('says that the outcome is unknown when a second signal cuts a submit off', async () => {
    await using api = await slowApi()
    await using run = startCli(['generate', 'x'], { env: envFor(api), cwd: newFolder() })
    await api.asked
    run.child.kill('SIGINT')
    await run.says(/waiting for the response/)
    run.child.kill('SIGINT')
    const { code, stderr } = await run.exit
    assert.equal(code, 1)
    assert.match(stderr, /it is unknown whether the server accepted the video: interrupted\n/)
  })

  it('asks after Ctrl-C in a terminal, and after no other signal', async () => {
    for (const [signal, asked] of [
      ['SIGINT', 1],
      ['SIGTERM', 0],
      ['SIGHUP', 0],
    ] as const) {
      let questions = 0
      let interrupt = (_: NodeJS.Signals) => {}
      await using api = await startFakeApi()
      api.handle = (request, response, body) => {
        if (request.method === 'POST') return send(response, 200, { ...addTask(api, body), status: 'queued' })
        if (!request.url?.startsWith('/v1/videos/')) return false
        interrupt(signal)
        return send(response, 200, { ...api.tasks[0], status: 'in_progress' })
      }
      const terminal = {
        ...openTerminal(),
        canAsk: true,
        live: false,
        err() {},
        out() {},
        onInterrupt(listener: typeof interrupt) {
          interrupt = listener
          return { [Symbol.dispose]() {} }
        },
        async readKey() {
          questions += 1
          return 'l'
        },
      }
      const args = ['x', '--base-url', api.url, '--token', 'fg', '-o', newFolder()]
      await assert.rejects(generate.run(args, terminal), Interrupted)
      assert.equal(questions, asked, signal)
    }
  })
})

describe('batch', () => {
  const start = (api: FakeApi, cwd: string) => {
    writeFileSync(join(cwd, 'prompts.txt'), 'a fox\na wolf\n')
    return startCli(['batch', 'prompts.txt', '-o', 'out', '-n', '1'], { env: envFor(api), cwd })
  }

  it('reports a submit that a second signal cut off as unknown, and submits nothing more', async () => {
    const cwd = newFolder()
    await using api = await slowApi()
    await using run = start(api, cwd)
    await api.asked
    run.child.kill('SIGTERM')
    await run.says(/waiting for the response/)
    run.child.kill('SIGTERM')
    const { code, stdout } = await run.exit
    assert.equal(code, 130)
    assert.match(stdout, /\n +1 +\(a-fox\) +unknown .*\n +2 +\(a-wolf\) +not started\b/)
    assert.equal(submits(api), 1)
  })

  it('has nothing to look for after a signal while the server was too busy', async () => {
    const cwd = newFolder()
    await using api = await busyApi()
    await using run = start(api, cwd)
    await run.says(/again in 60 s/)
    run.child.kill('SIGINT')
    const { code, stdout } = await run.exit
    assert.equal(code, 130)
    assert.match(stdout, /not started\n.+not started\n/)
    assert.equal(submits(api), 1)
    api.handle = () => false
    const next = await runCli(['batch', 'prompts.txt', '-o', 'out'], { env: envFor(api), cwd })
    assert.equal(next.code, 0, next.stderr)
    assert.doesNotMatch(next.stderr, /looking for/)
  })
})
