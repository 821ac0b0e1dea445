import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCli, startCli } from '../src/cli/cli.fixture.ts'
import { launcher, spawnServer } from './process.ts'
import { startService, type TestService, token } from './service.ts'

/* The command line as people run it, against the whole service. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-cli-'))
const small = ['--seconds', '1', '--size', '256x256']
let service: TestService
let env: Record<string, string>
before(async () => {
  service = await startService({ yaml: 'outbound: { allow: [127.0.0.1] }' })
  env = { FILMGATE_BASE_URL: service.url, FILMGATE_TOKEN: token }
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(root, { recursive: true })
})
const newFolder = () => mkdtempSync(join(root, 'x-'))
const listed = async () => ((await (await service.fetch('/v1/videos?limit=100')).json()) as { data: Task[] }).data

interface Task {
  id: string
  prompt: string
  status: string
}

function assertPlays(path: string): void {
  const bytes = readFileSync(path)
  assert.equal(bytes.subarray(4, 8).toString(), 'ftyp')
  const probe = spawnSync('ffprobe', ['-v', 'error', '-show_entries', 'stream=width,height', '-of', 'csv=p=0', path])
  if (!probe.error) assert.equal(probe.stdout.toString().trim(), '256,256')
}

describe('generate', () => {
  it('makes a film that plays; stdout has its path alone, stderr the steps as lines', async () => {
    const cwd = newFolder()
    const { code, stdout, stderr } = await runCli(['generate', 'A red fox, in snow!', ...small], { env, cwd })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^a-red-fox-in-snow-[0-9a-f]{6}\.mp4\n$/)
    assert.match(stderr, /^using model studio.*\n(queued: .*\n)+(drawing.*\n)*downloading\n$/)
    assertPlays(join(cwd, stdout.trim()))
  })

  it('--json is one object on stdout, the task and its file', async () => {
    const cwd = newFolder()
    const args = ['generate', 'a fox', ...small, '--model', 'studio', '--seed', '7', '--no-caption', '-o', 'fox.mp4']
    const { code, stdout, stderr } = await runCli([...args, '--json'], { env, cwd })
    assert.equal(code, 0, stderr)
    const { object, status, prompt, file } = JSON.parse(stdout)
    assert.deepEqual([object, status, prompt, file], ['video', 'completed', 'a fox', 'fox.mp4'])
    assertPlays(join(cwd, 'fox.mp4'))
    assert.deepEqual(readdirSync(cwd), ['fox.mp4'])
  })

  it('sends a local image', async () => {
    const cwd = newFolder()
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    // The bytes decide the type, and not the name.
    writeFileSync(join(cwd, 'picture'), Buffer.from(pixel, 'base64'))
    const args = ['generate', 'a dot', ...small, '--image', 'picture', '--seed', '1', '-o', 'dot.mp4']
    const { code, stderr } = await runCli(args, { env, cwd })
    assert.equal(code, 0, stderr)
    assertPlays(join(cwd, 'dot.mp4'))
  })

  it('a video that fails is exit code 3 and its reason, with no file', async () => {
    const server = createServer((_, response) => response.writeHead(404).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const cwd = newFolder()
    const image = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fox.png`
    const { code, stdout, stderr } = await runCli(['generate', 'x', ...small, '--image', image, '--json'], { env, cwd })
    server.close()
    assert.equal(code, 3, stderr)
    assert.match(stderr, /the video failed: .+ \(image_unavailable\)/)
    const { status, file } = JSON.parse(stdout)
    assert.deepEqual([status, file], ['failed', null])
    assert.deepEqual(readdirSync(cwd), [])
  })

  it('mistakes are reported before anything is sent, and refusals of the server are quoted', async () => {
    const cwd = newFolder()
    const cases: [args: string[], code: number, text: RegExp, env?: Record<string, string>][] = [
      [['generate'], 2, /the prompt is missing/],
      [['generate', 'a', 'fox'], 2, /put it in quotes/],
      [['generate', 'x', '--sise', '1x1'], 2, /no option --sise; did you mean --size\?/],
      [['genrate', 'x'], 2, /no command 'genrate'; did you mean generate\?/],
      [['generate', 'x', '-o', 'no/where.mp4'], 2, /there is no folder no;/],
      [['generate', 'x', '--image', 'none.png'], 2, /none\.png can't be read: there is no such file/],
      [
        ['generate', 'x', '--seconds', '30'],
        1,
        /--seconds is '30'\. .* whole seconds from '1' to '20'\. \(request req_\w+\)/,
      ],
      [['generate', 'x', '--token', 'wrong'], 1, /Incorrect API key .+\nThe token came from --token\./],
      [['generate', 'x'], 2, /no token is set\n[\s\S]*export FILMGATE_TOKEN=/, { FILMGATE_TOKEN: '' }],
      [['generate', 'x', '--base-url', 'http://127.0.0.1:9'], 1, /./],
    ]
    const before = (await listed()).length
    for (const [args, code, text, more] of cases) {
      const run = await runCli(args, { env: { ...env, ...more }, cwd })
      assert.equal(run.code, code, run.stderr)
      assert.match(run.stderr, text)
      assert.doesNotMatch(run.stderr, /\n\s+at /)
      assert.equal(run.stdout, '')
    }
    assert.equal((await listed()).length, before)
    assert.deepEqual(readdirSync(cwd), [])
  })

  it('a signal leaves the film on the server and says how to fetch it, which then works', async () => {
    const cwd = newFolder()
    await using run = startCli(['generate', 'left alone', '--seconds', '8', '-o', 'left.mp4'], { env, cwd })
    await run.says(/queued/)
    run.child.kill('SIGTERM')
    const { code, stdout, stderr } = await run.exit
    assert.deepEqual([code, stdout], [130, ''])
    const [, command = ''] = /^ {2}filmgate (download video_\w+ -o left\.mp4)$/m.exec(stderr) ?? []
    assert.deepEqual(readdirSync(cwd), [])
    const fetched = await runCli(command.split(' '), { env, cwd })
    assert.deepEqual([fetched.code, fetched.stdout], [0, 'left.mp4\n'], fetched.stderr)
  })
})

describe('models, list, get, download, delete', () => {
  it('show what a model costs', async () => {
    await using paid = await startService({ env: { KLING_API_KEY: 'a key' } })
    const its = { FILMGATE_BASE_URL: paid.url, FILMGATE_TOKEN: token }
    const { stdout } = await runCli(['models'], { env: its, cwd: newFolder() })
    assert.match(stdout, /^MODEL .* PRICE /)
    assert.match(stdout, /^kling-3\.0 .* 0\.084 USD\/second /m)
  })

  it('show tables, take the end of an id, and speak JSON', async () => {
    const cwd = newFolder()
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCli(args, { env, cwd })
      assert.equal(code, 0, stderr)
      return stdout
    }
    assert.match(await run('models'), /^MODEL .*\nstudio +1–20 \(4\)/)
    const { id } = (await (
      await service.submit({ model: 'studio', prompt: 'to be\nlisted', seconds: '1', size: '256x256' })
    ).json()) as Task
    await service.finish(id)
    assert.match(await run('list', '--limit', '1'), new RegExp(`^ID .*\\n${id} +completed .*to be listed\\n$`))
    assert.equal(JSON.parse(await run('list', '--json', '--status', 'completed')).data[0].id, id)
    const end = id.slice(-6)
    assert.match(await run('get', end), new RegExp(`id +${id}\\nstatus +completed`))
    assert.equal(JSON.parse(await run('get', id, '--json')).id, id)
    assert.equal(await run('download', end), `to-be-listed-${end}.mp4\n`)
    assertPlays(join(cwd, `to-be-listed-${end}.mp4`))
    for (const [variant, ending, magic] of [
      ['thumbnail', 'webp', 'RIFF'],
      ['spritesheet', 'jpg', '\xff\xd8\xff'],
    ] as const) {
      const file = `to-be-listed-${end}.${ending}`
      assert.equal(await run('download', end, '--variant', variant), `${file}\n`)
      assert.ok(readFileSync(join(cwd, file)).toString('latin1').startsWith(magic))
    }
    assert.equal(await run('delete', end), `deleted ${id}\n`)
    const gone = await runCli(['get', id], { env, cwd })
    assert.equal(gone.code, 1)
    assert.match(gone.stderr, /^filmgate: Video '.+' not found\./)
  })
})

describe('batch', () => {
  const films = (name: string, count = 6) => Array.from({ length: count }, (_, at) => `${name} film ${at}`)

  async function assertMadeOnce(name: string, cwd: string, count = 6): Promise<void> {
    const mine = (await listed()).filter(({ prompt }) => prompt.startsWith(`${name} film`))
    assert.deepEqual(mine.map(({ prompt }) => prompt).sort(), films(name, count).sort())
    const files = readdirSync(join(cwd, 'out')).filter((file) => !file.startsWith('.'))
    assert.equal(files.length, count, String(files))
    for (const file of files) assertPlays(join(cwd, 'out', file))
    assert.deepEqual(
      readdirSync(join(cwd, 'out')).filter((file) => file.endsWith('.part')),
      [],
    )
  }

  it('interrupted by SIGINT it says how to go on, and going on makes nothing twice', async () => {
    const cwd = newFolder()
    writeFileSync(join(cwd, 'prompts.txt'), `# twenty\n\n${films('calm', 20).join('\n')}\n`)
    const args = ['batch', 'prompts.txt', '-o', 'out', '-n', '2', ...small]
    await using first = startCli(args, { env, cwd })
    await first.says(/done/)
    first.child.kill('SIGINT')
    const { code, stdout, stderr } = await first.exit
    assert.equal(code, 130, stderr)
    assert.match(stderr, /Run the same command again to go on\./)
    assert.match(stdout, /^LINE +FILE +STATUS/)
    assert.match(stdout, /not started/)
    const second = await runCli([...args, '--json'], { env, cwd })
    assert.equal(second.code, 0, second.stderr)
    const { tasks } = JSON.parse(second.stdout) as { tasks: { status: string; line: number }[] }
    assert.deepEqual(
      tasks.map(({ line, status }) => [line, status]),
      Array.from({ length: 20 }, (_, at) => [at + 3, 'done']),
    )
    await assertMadeOnce('calm', cwd, 20)
    assert.equal((await runCli(args, { env, cwd })).code, 0)
    await assertMadeOnce('calm', cwd, 20)
  })

  it('killed at many moments it makes nothing twice', async () => {
    const cwd = newFolder()
    writeFileSync(join(cwd, 'prompts.txt'), films('wild').join('\n'))
    const args = ['batch', 'prompts.txt', '-o', 'out', '-n', '3', ...small]
    for (const moment of [1, 2, 4, 6]) {
      await using run = startCli(args, { env, cwd })
      // As soon as the server has it, which may be before the batch knows.
      while (run.child.exitCode === null) {
        const made = (await listed()).filter(({ prompt }) => prompt.startsWith('wild film'))
        if (made.length >= moment) break
      }
      run.child.kill('SIGKILL')
      await run.exit
    }
    const last = await runCli(args, { env, cwd })
    assert.equal(last.code, 0, last.stderr)
    await assertMadeOnce('wild', cwd)
  })

  it('a video whose file is gone is downloaded again, not created again; a second batch in the folder is refused', async () => {
    const cwd = newFolder()
    writeFileSync(join(cwd, 'prompts.jsonl'), '{"prompt": "kept film 0", "name": "kept"}\n')
    const args = ['batch', 'prompts.jsonl', '-o', 'out', ...small]
    await using first = startCli(args, { env, cwd })
    await first.says(/queued/)
    const other = await runCli(args, { env, cwd })
    assert.equal(other.code, 1)
    assert.match(other.stderr, /another batch is running in out/)
    assert.equal((await first.exit).code, 0)
    rmSync(join(cwd, 'out', 'kept.mp4'))
    assert.equal((await runCli(args, { env, cwd })).code, 0)
    assertPlays(join(cwd, 'out', 'kept.mp4'))
    assert.equal((await listed()).filter(({ prompt }) => prompt === 'kept film 0').length, 1)
  })

  it('every bad line is reported at once, with its number, and nothing is submitted', async () => {
    const cwd = newFolder()
    const lines = ['fine', '{"prompt": 1}', '{"promt": "x"}', '{nonsense', '{"prompt": "x", "image": "gone.png"}', '{}']
    writeFileSync(join(cwd, 'prompts.jsonl'), lines.join('\n'))
    const before = (await listed()).length
    const { code, stderr } = await runCli(['batch', 'prompts.jsonl', '-o', 'out'], { env, cwd })
    assert.equal(code, 2)
    assert.match(stderr, /5 mistakes in prompts\.jsonl; nothing was submitted\n/)
    assert.match(
      stderr,
      /line 2: prompt: it is not text\n {2}line 3: .*did you mean prompt\?\n {2}line 4: .*\n {2}line 5: .*gone\.png.*\n {2}line 6: prompt: it is missing\n/,
    )
    assert.equal((await listed()).length, before)
    assert.deepEqual(readdirSync(cwd), ['prompts.jsonl'])
  })
})

it('a server that is down is named, with what to do', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const args = ['generate', 'x', '--base-url', `127.0.0.1:${port}`]
  const { code, stderr } = await runCli(args, { env, cwd: newFolder() })
  assert.equal(code, 1)
  assert.match(stderr, /can't connect to http:\/\/127\.0\.0\.1:\d+\/v1: nothing listens there\nIs the server running\?/)
  assert.match(stderr, /^ {2}filmgate serve\n.*--base-url.*FILMGATE_BASE_URL/m)
})

it('what a start prints for the command line works when it is pasted', async () => {
  await using server = spawnServer({ args: ['--data', join(newFolder(), 'data')], env: { npm_command: 'start' } })
  await server.url
  while (!server.output.stdout.includes('npx filmgate generate')) await new Promise((resolve) => setImmediate(resolve))
  const lines = [...server.output.stdout.matchAll(/^ {2}(export .+)$/gm)].map(([, line]) => line)
  const script = `${lines.join('\n')}\n"${process.execPath}" "${launcher}" models`
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^studio/m)
})
