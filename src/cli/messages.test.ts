import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { faultsByKind } from '../../simulators/upstream/faults.ts'
import { schemaForEditors } from '../config/schema.ts'
import { addTask, type FakeApi, filmBytes, runCli, send, startFakeApi } from './cli.fixture.ts'

/* What the command line says, to whom it says it, and before what. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-said-'))
after(() => rmSync(root, { recursive: true }))
const newFolder = () => mkdtempSync(join(root, 'x-'))
const envFor = ({ url }: FakeApi) => ({ FILMGATE_BASE_URL: url, FILMGATE_TOKEN: 'fg' })
const throughNpx = { npm_command: 'exec' }

it('every help fits into 80 columns, also with npx, and shows commands as they can be typed', async () => {
  const cwd = newFolder()
  const { stdout: first } = await runCli(['--help'], { env: throughNpx, cwd })
  const commands = [...first.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name = '']) => name)
  assert.ok(commands.includes('generate'))
  for (const command of commands) {
    const { stdout } = await runCli([command, '--help'], { env: throughNpx, cwd })
    assert.match(stdout, new RegExp(`^Usage: npx filmgate ${command}`))
    assert.doesNotMatch(stdout, /^(?!.*npx).*(?<![\w/.-])filmgate [a-z]/m)
    for (const line of (first + stdout).split('\n')) assert.ok(line.length <= 80, line)
  }
  const { stdout } = await runCli(['delete', '--help'], { cwd })
  assert.match(stdout, /^Usage: filmgate delete/)
})

it('config schema prints the JSON Schema of filmgate.yaml, and nothing else is a config command', async () => {
  const cwd = newFolder()
  const { code, stdout, stderr } = await runCli(['config', 'schema'], { cwd })
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual(JSON.parse(stdout), schemaForEditors())
  for (const [args, text] of [
    [[], /the word after config is missing; use config schema\n/],
    [['shcema'], /there is no 'config shcema'; did you mean schema\?\n/],
    [['schema', 'x'], /'x' is one argument too many\n/],
  ] as const) {
    const wrong = await runCli(['config', ...args], { cwd })
    assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
    assert.match(wrong.stderr, text)
  }
})

describe('a mistake in a command is reported with its fix, before any request', () => {
  const cases: [name: string, args: string[], text: RegExp][] = [
    ['a negative seed', ['generate', 'x', '--seed', '-1'], /seed: '-1' is not a whole number, 0 or more\n/],
    ['an empty seed', ['generate', 'x', '--seed', ''], /seed: '' is not a whole number/],
    ['a seed in another base', ['generate', 'x', '--seed', '0x10'], /seed: '0x10' is not a whole number/],
    ['a seed in words', ['generate', 'x', '--seed', 'seven'], /seed: 'seven' is not a whole number/],
    ['a negative short option', ['batch', 'x', '-o', '.', '-n', '-1'], /-n -1: use a number from 1 to 99/],
    ['a prompt with a dash', ['generate', '-a fox'], /no option -a\n.+ -- '-a fox'\n/],
    ['a prompt with two dashes', ['generate', '--a fox'], /no option --a fox\n.+ -- '--a fox'\n/],
    ['a prompt that is read as an option', ['generate', '-o fox'], /the prompt is missing\n.+ -- '-o fox'\n/],
    ['one dash too few', ['generate', 'x', '-seed', '1'], /no option -s; did you mean --seed\?\n/],
    ['an image that is not there', ['generate', 'x', '--image', 'none.png'], /none\.png can't be read/],
    ['an empty image', ['generate', 'x', '--image', ''], /image: it is empty; use a file or a URL\n/],
    ['an empty image of a batch', ['batch', 'x', '-o', '.', '--image', ''], /image: it is empty/],
    ['the end of an id that is too short', ['get', 'abc'], /give 4 or more characters .+\n.+\n {2}npx filmgate list\n/],
    ['a limit that is too high', ['list', '--limit', '1001'], /--limit 1001: use a number from 1 to 1000/],
    ['a mistake in general', ['list', '--limit', 'x'], /See npx filmgate list --help\n/],
  ]
  for (const [name, args, text] of cases) {
    it(name, async () => {
      await using api = await startFakeApi()
      const { code, stderr } = await runCli(args, { env: { ...envFor(api), ...throughNpx }, cwd: newFolder() })
      assert.equal(code, 2)
      assert.match(stderr, text)
      assert.deepEqual(api.requests, [])
    })
  }
})

it('a video that differs from the request says so: to the client that creates it, and to the client that reads it', async () => {
  const warning = '`seconds` was 8; the provider generated 5.04 s.'
  const output = { width: 832, height: 480, duration: 5.041667, frame_rate: 16, codec: 'h264', bytes: 8 }
  await using api = await startFakeApi((request, response, body) => {
    if (request.method !== 'POST') return false
    const facts = { seconds: '5', size: '832x480', output, warnings: [warning], expires_at: 1_000_000_000 }
    const made = Object.assign(addTask(api, body), facts)
    return send(response, 200, made)
  })
  const [env, cwd] = [envFor(api), newFolder()]
  const { stderr, stdout } = await runCli(['generate', 'a fox', '--seconds', '8'], { env, cwd })
  assert.ok(stderr.includes(`filmgate: ${warning}\n`), stderr)
  assert.doesNotMatch(stdout, /seconds/)
  writeFileSync(join(cwd, 'list.txt'), 'a fox\n')
  const batch = await runCli(['batch', 'list.txt', '-o', 'films'], { env, cwd })
  assert.ok(batch.stderr.includes(warning), batch.stderr)
  const { stdout: shown } = await runCli(['get', api.tasks[0]?.id ?? ''], { env, cwd })
  assert.match(
    shown,
    /\noutput +5\.04 s, 832x480, 16 fps, h264, 8 B\nwarning +`seconds` was 8; the provider generated 5/,
  )
  assert.match(shown, /\nexpired +\d+ d ago \(2001-09-09T01:46:40Z\)\n/)
})

it('a list that is not UTF-8 is refused with the line, and nothing is submitted', async () => {
  await using api = await startFakeApi()
  const cwd = newFolder()
  for (const encoding of ['utf16le', 'latin1'] as const) {
    writeFileSync(join(cwd, 'list'), Buffer.from('a fox\nein Bär\n', encoding))
    const { code, stderr } = await runCli(['batch', 'list', '-o', 'out'], { env: envFor(api), cwd })
    assert.equal(code, 2)
    assert.match(stderr, /nothing was submitted\n {2}line \d: /)
  }
  writeFileSync(
    join(cwd, 'list'),
    Buffer.from('{"prompt": ""}\nein Bär\na fox\n{"prompt": "x", "seed": -1}\n', 'latin1'),
  )
  const { stderr } = await runCli(['batch', 'list', '-o', 'out'], { env: envFor(api), cwd })
  assert.match(stderr, /3 mistakes .+\n {2}line 1: prompt: .+\n {2}line 2: it is not UTF-8; .+\n {2}line 4: seed: /)
  assert.deepEqual(api.requests, [])
})

it('a prompt may come behind two dashes, or through a pipe', async () => {
  const cwd = newFolder()
  await using api = await startFakeApi()
  const env = envFor(api)
  assert.equal((await runCli(['generate', '-o', 'a.mp4', '--', '-a fox'], { env, cwd })).code, 0)
  assert.equal((await runCli(['generate', '-', '-o', 'b.mp4'], { env, cwd, input: 'a fox\nin snow\n' })).code, 0)
  const empty = await runCli(['generate', '-'], { env, cwd })
  assert.deepEqual([empty.code, /the prompt is empty/.test(empty.stderr)], [2, true])
  assert.deepEqual(
    api.tasks.map(({ prompt }) => prompt),
    ['a fox\nin snow', '-a fox'],
  )
})

it("the server's own names are put into those of the command line", async () => {
  const refusals = [
    { message: "The model 'x' does not exist. GET /v1/models lists the models you can use.", param: 'model' },
    { message: "Invalid 'input_reference': it is no picture.", param: 'input_reference' },
  ]
  await using api = await startFakeApi((request, response) => {
    if (request.method === 'GET') return false
    return send(response, 400, { error: refusals.shift() })
  })
  const options = { env: { ...envFor(api), ...throughNpx }, cwd: newFolder() }
  const model = await runCli(['generate', 'x', '--model', 'x'], options)
  assert.match(model.stderr, /does not exist\. \(--model\)\n.+\n {2}npx filmgate models\n$/)
  const image = await runCli(['generate', 'x', '--model', 'x'], options)
  assert.match(image.stderr, /Invalid --image: it is no picture\.\n/)
})

it('a finished video is downloaded, and replaces an existing file', async () => {
  const cwd = newFolder()
  await using api = await startFakeApi()
  const { id } = addTask(api, '{"prompt": "a fox", "model": "fake"}')
  writeFileSync(join(cwd, 'fox.mp4'), 'an older film')
  const { code, stderr } = await runCli(['download', id, '-o', 'fox.mp4'], { env: envFor(api), cwd })
  assert.deepEqual([code, stderr], [0, 'downloading\n'])
  assert.deepEqual(readFileSync(join(cwd, 'fox.mp4')), filmBytes)
})

it('a picture is saved as an image, and a video in its place is refused', async () => {
  const cwd = newFolder()
  await using api = await startFakeApi()
  const { id } = addTask(api, '{"prompt": "a fox", "model": "fake"}')
  const run = (variant: string) => runCli(['download', id, '--variant', variant], { env: envFor(api), cwd })
  assert.match(
    (await run('thumbnail')).stderr,
    /the server did not send an image; it may not support --variant thumbnail\n/,
  )
  const slip = await run('thumbnial')
  assert.deepEqual([slip.code, readdirSync(cwd)], [2, []])
  assert.match(slip.stderr, /--variant thumbnial: use one of video, thumbnail, spritesheet; did you mean thumbnail\?/)
  api.handle = (request, response) => {
    if (!request.url?.endsWith('/content?variant=thumbnail')) return false
    response.writeHead(200, { 'content-type': 'image/webp' }).end('RIFF')
    return true
  }
  const { code, stdout } = await run('thumbnail')
  assert.deepEqual([code, stdout], [0, 'a-fox-000000.webp\n'])
})

it('an id may end in capitals, and an unknown one says where the others are', async () => {
  await using api = await startFakeApi()
  const task = addTask(api, '{"prompt": "a fox", "model": "fake"}')
  task.id = 'video_0193abcd'
  const options = { env: envFor(api), cwd: newFolder() }
  assert.match((await runCli(['get', 'ABCD'], options)).stdout, /video_0193abcd/)
  assert.match((await runCli(['get', 'ABCE'], options)).stderr, /no such video\n.+\n {2}filmgate list\n/)
})

it('list takes the status as the API names it and as the table shows it', async () => {
  await using api = await startFakeApi()
  for (const status of ['completed', 'in_progress']) addTask(api, '{"prompt": "x", "model": "m"}').status = status
  for (const status of ['drawing', 'in_progress']) {
    const { stdout } = await runCli(['list', '--status', status], { env: envFor(api), cwd: newFolder() })
    assert.match(stdout, /^ID .+\nvideo_00000001 +drawing .+\n$/)
  }
})

it('list --model shows the videos of one model, and requests no others', async () => {
  const asked: string[] = []
  await using api = await startFakeApi((request) => {
    asked.push(request.url ?? '')
    return false
  })
  for (const model of ['one', 'other', 'one']) addTask(api, JSON.stringify({ prompt: 'x', model }))
  const run = (...args: string[]) => runCli(['list', ...args], { env: envFor(api), cwd: newFolder() })
  assert.match((await run('--model', 'other')).stdout, /^ID .+\nvideo_00000001 .+\n$/)
  assert.match((await run('--model', 'none', '--status', 'failed')).stderr, /^No videos of none are failed\.\n/)
  assert.match(asked[0] ?? '', /model=other/)
  assert.match(asked[1] ?? '', /status=failed&model=none/)
})

it('a batch names its model, distinguishes equal lines, and the next run skips what exists', async () => {
  const cwd = newFolder()
  await using api = await startFakeApi()
  writeFileSync(join(cwd, 'prompts.txt'), 'a fox\na wolf\na fox\n')
  const run = () => runCli(['batch', 'prompts.txt', '-o', 'out'], { env: envFor(api), cwd })
  const first = await run()
  assert.match(first.stderr, /^using model fake, the first that the server lists\n/)
  for (const label of ['line 1, a-fox', 'a-wolf', 'line 3, a-fox'])
    assert.match(first.stderr, new RegExp(`^${label}: done .+\\.mp4$`, 'm'))
  assert.match(first.stdout, /^LINE +FILE +STATUS +TOOK\n +1 +a-fox-\S+ +done +0:0\d\n/)
  const second = await run()
  assert.match(second.stderr, /^(.+: already there \S+\.mp4\n){3}3 already there\n$/)
  assert.match(second.stdout, /a-wolf-\S+ +already there/)
  assert.equal(readdirSync(join(cwd, 'out')).filter((name) => name.endsWith('.mp4')).length, 3)
  assert.equal(api.tasks.length, 3)
})

it('simulate --help has the name of every fault', async () => {
  const { stdout } = await runCli(['simulate', '--help'], { cwd: root })
  const named = new Set(stdout.split(/\s+/))
  for (const { name } of Object.values(faultsByKind).flat()) assert.ok(named.has(name), name)
})
