import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { launcher, spawnServer } from './process.ts'
import { until } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-serve-'))
after(() => rmSync(folder, { recursive: true }))
let count = 0
const newData = () => join(folder, `data-${count++}`)
const authorization = 'Bearer My API Key'
const FILMGATE_TOKEN = 'My API Key'
const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' }

function submit(url: string, fields: object = {}, auth = authorization): Promise<Response> {
  const headers = { authorization: auth, 'content-type': 'application/json' }
  return fetch(`${url}/v1/videos`, { method: 'POST', headers, body: JSON.stringify({ ...film, ...fields }) })
}

async function finish(url: string, id: string): Promise<Record<string, unknown>> {
  for (;;) {
    const answer = await fetch(`${url}/v1/videos/${id}`, { headers: { authorization } })
    const task = (await answer.json()) as Record<string, unknown>
    if (task.status === 'completed' || task.status === 'failed') return task
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

it('the very first start prints a token once, and a curl that works when it is pasted', async () => {
  const data = newData()
  {
    await using server = spawnServer({ args: ['--data', data] })
    await server.url
    const secret = /Token +(fg_\w+)/.exec(server.output.stdout)?.[1]
    assert.ok(secret, server.output.stdout)
    while (!server.output.stdout.includes('/content')) await new Promise((resolve) => setTimeout(resolve, 10))
    const curl = /^ {2}curl [\s\S]+?'$/m.exec(server.output.stdout)?.[0] ?? ''
    const answer = JSON.parse(
      execFileSync('bash', ['-c', `${curl} -s`], { stdio: ['ignore', 'pipe', 'ignore'] }).toString(),
    )
    assert.deepEqual([answer.object, answer.status], ['video', 'queued'])
    server.child.kill('SIGTERM')
    assert.deepEqual(await server.exit, { code: 0, signal: null })
  }
  await using again = spawnServer({ args: ['--data', data] })
  await again.url
  assert.ok(!/fg_\w{40}/.test(again.output.stdout))
})

it('a start that fails makes no token, and one that is replaced is not accepted again', async () => {
  const data = newData()
  await using other = spawnServer({ args: ['--data', newData()] })
  const { port } = new URL(await other.url)
  await using failed = spawnServer({ args: ['--data', data, '--port', port] })
  assert.equal((await failed.exit).code, 1)
  const made: string[] = []
  for (const env of [{}, { FILMGATE_TOKEN }, {}]) {
    await using server = spawnServer({ args: ['--data', data], env })
    const url = await server.url
    const secret = /Token +(fg_\w+)/.exec(server.output.stdout)?.[1]
    if (secret) made.push(secret)
    const works = async (token: string) => (await submit(url, {}, `Bearer ${token}`)).status === 200
    if ('FILMGATE_TOKEN' in env)
      assert.deepEqual([await works(FILMGATE_TOKEN), await works(made[0] ?? '')], [true, false])
    else assert.ok(secret && (await works(secret)))
  }
  assert.equal(new Set(made).size, 2)
})

it('a token given by the operator is used instead, and never printed', async () => {
  await using server = spawnServer({ args: ['--data', newData()], env: { FILMGATE_TOKEN } })
  assert.equal((await submit(await server.url)).status, 200)
  assert.ok(!server.output.stdout.includes(FILMGATE_TOKEN))
})

it('a second server on the same data folder refuses with one clear line, and the first goes on', async () => {
  const data = newData()
  await using first = spawnServer({ args: ['--data', data], env: { FILMGATE_TOKEN } })
  const url = await first.url
  await using second = spawnServer({ args: ['--data', data], env: { FILMGATE_TOKEN } })
  assert.deepEqual(await second.exit, { code: 1, signal: null })
  assert.match(second.output.stderr, /^filmgate: another Filmgate is already running on the data folder .+\n$/)
  assert.equal((await submit(url)).status, 200)
})

it('a port in use, a folder that cannot be written, and a broken database are one clear line each', async () => {
  await using first = spawnServer({ args: ['--data', newData()] })
  const { port } = new URL(await first.url)
  const file = join(folder, 'a-file')
  writeFileSync(file, 'x')
  const broken = newData()
  spawnSync('mkdir', [broken])
  writeFileSync(join(broken, 'filmgate.db'), 'this is no database at all, but it is long enough to look at'.repeat(100))
  const cases: [string[], RegExp][] = [
    [['--data', newData(), '--port', port], /is already in use; choose another with --port/],
    [['--data', join(file, 'below')], /can't be used .+--data/],
    [['--data', broken], /filmgate\.db.+not a database/],
    [['--data', newData(), '--host', '203.0.113.1'], /is not an address of this machine/],
  ]
  for (const [args, message] of cases) {
    await using server = spawnServer({ args })
    assert.deepEqual(await server.exit, { code: 1, signal: null })
    assert.match(server.output.stderr, message)
    assert.equal(server.output.stderr.trim().split('\n').length, 1, server.output.stderr)
  }
})

it('a model of a token that does not exist is reported at the start, which goes on', async () => {
  const config = join(folder, 'tokens.yaml')
  writeFileSync(config, 'tokens: [{ name: a, secret: b, models: [studio, "kling-*"] }]')
  await using server = spawnServer({ args: ['--data', newData(), '--config', config] })
  await server.url
  assert.match(server.output.stderr, /^filmgate: tokens\[0\]\.models\[1\]: 'kling-\*' matches no model$/m)
})

it('every mistake in the configuration is reported at once, and nothing is started', async () => {
  await using server = spawnServer({
    env: { FILMGATE_PORT: 'http', FILMGATE_RETENTION: '-1', FILMGATE_CONFIG: '/nowhere.yaml' },
  })
  assert.equal((await server.exit).code, 2)
  assert.match(server.output.stderr, /3 mistakes/)
  for (const name of ['FILMGATE_PORT', 'FILMGATE_RETENTION', 'FILMGATE_CONFIG'])
    assert.match(server.output.stderr, new RegExp(`  ${name}: .+; .+`))
})

it('the command line helps: --help, --version, unknown commands and options', () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8' })
    return { status, text: stdout + stderr }
  }
  assert.match(run('--help').text, /serve +run the service/)
  assert.match(run('serve', '--help').text, /--port +FILMGATE_PORT/)
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'))
  assert.deepEqual(run('--version'), { status: 0, text: `${version}\n` })
  assert.equal(run('fly').status, 2)
  assert.equal(run('serve', '--prot', '1').status, 2)
})

it('SIGTERM lets a download finish, takes no new connection, and exits 0; the work goes on at the next start', async () => {
  const data = newData()
  const options = { args: ['--data', data], env: { FILMGATE_TOKEN } }
  let unfinished: string
  {
    await using server = spawnServer(options)
    const url = await server.url
    const { id } = (await (await submit(url, { seconds: '8', size: '1280x720' })).json()) as { id: string }
    await finish(url, id)
    const download = await new Promise<IncomingMessage>((resolve) =>
      get(`${url}/v1/videos/${id}/content`, { headers: { authorization } }, resolve),
    )
    unfinished = ((await (await submit(url, { seconds: '20' })).json()) as { id: string }).id
    server.child.kill('SIGTERM')
    // As if a supervisor signals a launcher, which passes it on. Another signal, because two of the same become one.
    server.child.kill('SIGINT')
    while (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      await new Promise((resolve) => setTimeout(resolve, 20))
    let bytes = 0
    for await (const chunk of download) bytes += chunk.length
    assert.equal(bytes, Number(download.headers['content-length']))
    assert.deepEqual(await server.exit, { code: 0, signal: null })
  }
  await using server = spawnServer(options)
  assert.equal((await finish(await server.url, unfinished)).status, 'completed')
})

it('SIGTERM does not cut off a client that polls on an open connection', async () => {
  await using server = spawnServer({ args: ['--data', newData()], env: { FILMGATE_TOKEN } })
  const url = await server.url
  using agent = openAgent()
  const ask = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${url}/v1/videos`, { method: 'POST', agent, headers: { authorization } }, resolve)
      sent.on('error', reject).end()
    })
  let answers = 0
  const askOn = async (): Promise<void> => {
    const answer = await ask()
    answers += 1
    await answer.resume().toArray()
    if (answer.headers.connection !== 'close') return askOn()
  }
  const clients = Array.from({ length: 20 }, askOn)
  await until('they are at it', () => answers > 100)
  server.child.kill('SIGTERM')
  await Promise.all(clients)
  assert.deepEqual(await server.exit, { code: 0, signal: null })
})

function openAgent(): Agent & Disposable {
  const agent = new Agent({ keepAlive: true })
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() })
}

// `nice -n 15` of an ordinary user: the writer asked for a priority of 10, was refused, and the service stopped.
it('a service that was started at a low priority runs, and asks for none that is higher', async () => {
  await using server = spawnServer({
    args: ['--data', newData()],
    env: { FILMGATE_TOKEN },
    under: ['nice', '-n', '15'],
  })
  const answer = await submit(await server.url)
  assert.equal(answer.status, 200, server.output.stderr)
  const { id } = (await answer.json()) as { id: string }
  assert.equal((await finish(await server.url, id)).status, 'completed')
  const { pid } = server.child
  const priorities = readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)))
  assert.ok(Math.min(...priorities) >= Math.min(19, getPriority() + 15), String(priorities))
})

it('no other user can read the data folder or a file in it, also where it was open to everybody before', async () => {
  const data = newData()
  mkdirSync(data, { mode: 0o755 })
  {
    await using server = spawnServer({ args: ['--data', data], env: { FILMGATE_TOKEN } })
    const { id } = (await (await submit(await server.url)).json()) as { id: string }
    await finish(await server.url, id)
    const names = readdirSync(data)
    for (const name of ['filmgate.db', 'filmgate.db-wal', 'lock.db', 'unsent']) assert.ok(names.includes(name), name)
    for (const name of ['.', ...names])
      assert.equal(
        statSync(join(data, name)).mode & 0o077,
        0,
        `${name}: ${statSync(join(data, name)).mode.toString(8)}`,
      )
  }
})
