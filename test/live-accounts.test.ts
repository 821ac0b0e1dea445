import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { startUpstream, type Upstream } from '../simulators/upstream.ts'
import { runCli } from '../src/cli/cli.fixture.ts'
import { providers } from '../src/providers/index.ts'
import { operatorToken, startService, type TestService, until } from './service.ts'

/* Accounts that operators add, change, pause, drain and remove while the service runs. */

const members = { ...providers, ...simulated }
const key = 'sk-a-planted-key-of-a-provider-7781'
const film = { model: 'sim-none', prompt: 'a red fox', seconds: '4', size: '1280x720' }
const quick = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
const root = mkdtempSync(join(tmpdir(), 'filmgate-live-accounts-'))
after(() => rmSync(root, { recursive: true }))

interface Shown {
  name: string
  mode: string
  source: string
  key_set: boolean
  key_hint: string | null
  concurrency: number
  unfinished_tasks: number
  was_paused: boolean
  health: { state: string }
  error: { code: string; message: string; param: string | null }
  data: (Shown & { action: string; target: string; before: Shown | null; after: Shown | null })[]
  unused: string[]
  providers: string[]
  state: string
  seen: string
}

async function call(service: TestService, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
  const headers = {
    authorization: `Bearer ${operatorToken}`,
    connection: 'close',
    ...(body !== undefined && body !== null && { 'content-type': 'application/json' }),
  }
  const json = body !== undefined && body !== null && { body: JSON.stringify(body) }
  const answer = await service.fetch(`/operator/v1${path}`, { method, headers, ...json })
  return { status: answer.status, body: (await answer.json()) as Shown }
}

/** A POST without a body. */
const act = (service: TestService, path: string) => call(service, path, null, 'POST')
const remove = (service: TestService, name: string) => call(service, `/accounts/${name}`, null, 'DELETE')

async function submit(service: TestService, fields: object): Promise<string> {
  const answer = await service.submit(fields)
  const { id } = (await answer.json()) as { id: string }
  assert.equal(answer.status, 200, id)
  return id
}

async function addAccount(
  service: TestService,
  upstream: Upstream,
  name = 'main',
  fields: object = {},
): Promise<Shown> {
  const account = { name, provider: 'sim-none', base_url: upstream.url, key, ...fields }
  const { status, body } = await call(service, '/accounts', account)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const accepted = (upstream: Upstream) => upstream.ledger().accepts.length

it('an account that is added generates videos at once, and still does after a restart', async () => {
  await using upstream = await startUpstream()
  await using service = await startService({ members })
  assert.equal((await service.submit(film)).status, 404)
  const { providers: addable } = (await call(service, '/accounts')).body
  assert.deepEqual([addable.includes('sim-none'), addable.includes('studio')], [true, false])
  const made = await addAccount(service, upstream)
  assert.deepEqual(
    [made.source, made.mode, made.key_set, made.key_hint, made.concurrency],
    ['store', 'active', true, '7781', 4],
  )
  assert.equal((await service.finish(await submit(service, film))).status, 'completed')
  await service.restart()
  const shown = await call(service, '/accounts/main')
  assert.deepEqual([shown.status, shown.body.key_hint], [200, '7781'])
  assert.equal((await service.finish(await submit(service, film))).status, 'completed')
  assert.equal(accepted(upstream), 2)
})

it('the key is in no answer, no log, no audit entry and no file in clear, and a short key has no hint', async () => {
  await using upstream = await startUpstream()
  await using service = await startService({ members })
  await addAccount(service, upstream)
  const short = await addAccount(service, upstream, 'short', { key: 'sixteen-letters!' })
  assert.deepEqual([short.key_set, short.key_hint], [true, null])
  const other = 'sk-another-planted-key-9034'
  const changed = await call(service, '/accounts/main', { key: other, concurrency: 9 })
  assert.deepEqual([changed.body.key_hint, changed.body.concurrency], ['9034', 9])
  await act(service, '/accounts/main/test')
  const redirected = await call(service, '/accounts/main', { base_url: 'http://127.0.0.1:9' })
  assert.deepEqual([redirected.status, redirected.body.error.param], [400, 'key'])
  for (const base_url of ['http:/x', 'http://h\tx', 'http://h:0', 'http://h..']) {
    const { status, body } = await call(service, '/accounts', { name: 'junk', provider: 'sim-none', base_url, key })
    assert.deepEqual([status, body.error.param], [400, 'base_url'], base_url)
  }
  const wrong = await call(service, '/accounts/main', { key: `${key}é` })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'key'])
  const answers = await Promise.all(['/accounts', '/accounts/main', '/audit'].map((path) => call(service, path)))
  const texts = [...answers.map(({ body }) => JSON.stringify(body)), JSON.stringify(wrong.body), ...service.log]
  for (const name of readdirSync(service.data).filter((one) => one.startsWith('filmgate.db')))
    texts.push(readFileSync(join(service.data, name), 'latin1'))
  for (const text of texts)
    for (const secret of [key, other, 'sixteen-letters!']) assert.ok(!text.includes(secret), text.slice(0, 200))
  const [change] = answers[2]?.body.data ?? []
  assert.deepEqual([change?.action, change?.target], ['account.change', 'main'])
  assert.deepEqual([change?.before?.key_hint, change?.after?.key_hint], ['7781', '9034'])
})

it('nothing is sent to a paused account, and everything goes on when it is resumed', async () => {
  await using upstream = await startUpstream({ speed: 600_000 })
  await using service = await startService({ members })
  await addAccount(service, upstream)
  const running = await submit(service, film)
  await until('it is sent', () => accepted(upstream) === 1)
  const paused = await act(service, '/accounts/main/pause')
  assert.deepEqual([paused.body.mode, paused.body.unfinished_tasks], ['paused', 1])
  assert.equal((await act(service, '/accounts/main/pause')).status, 200)
  upstream.setFaults({ speed: 0 })
  const waiting = await submit(service, film)
  // The engine makes many rounds meanwhile.
  assert.equal((await service.finish(await submit(service, quick))).status, 'completed')
  for (const id of [running, waiting]) {
    const video = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { status: string }
    assert.equal(video.status, id === running ? 'in_progress' : 'queued')
  }
  assert.equal(accepted(upstream), 1)
  const resumed = await act(service, '/accounts/main/resume')
  assert.deepEqual([resumed.body.mode, resumed.body.was_paused], ['active', true])
  for (const id of [running, waiting]) assert.equal((await service.finish(id)).status, 'completed')
  const { body } = await call(service, '/audit')
  assert.deepEqual(
    body.data.map(({ action }) => action),
    ['account.resume', 'account.pause', 'account.create'],
  )
})

it('an account is removed after it was drained: it gets no new tasks, and those that it has end', async () => {
  await using upstream = await startUpstream({ speed: 600_000 })
  await using other = await startUpstream()
  await using service = await startService({ members })
  await addAccount(service, upstream)
  const running = await submit(service, film)
  await until('it is sent', () => accepted(upstream) === 1)
  const refused = await remove(service, 'main')
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'])
  assert.match(refused.body.error.message, /'main' has an unfinished task\. Drain it first\.$/)
  assert.equal((await act(service, '/accounts/main/drain')).body.mode, 'draining')
  await addAccount(service, other, 'other')
  assert.equal((await service.finish(await submit(service, film))).status, 'completed')
  assert.deepEqual([accepted(upstream), accepted(other)], [1, 1])
  assert.match((await remove(service, 'main')).body.error.message, /It is being drained: wait until it has none/)
  upstream.setFaults({ speed: 0 })
  assert.equal((await service.finish(running)).status, 'completed')
  assert.equal((await remove(service, 'main')).status, 200)
  assert.equal((await call(service, '/accounts/main')).status, 404)
  assert.equal((await remove(service, 'main')).status, 404)
  await addAccount(service, upstream, 'main', { concurrency: 2 })
  assert.equal((await call(service, '/accounts/main')).body.concurrency, 2)
})

it('an account of the file is read-only, and wins over one of the store', async () => {
  await using upstream = await startUpstream()
  const yaml = (name: string) =>
    `accounts: { ${name}: { provider: sim-none, base_url: "${upstream.url}", key: of-the-file, concurrency: 3 } }`
  await using service = await startService({ members, yaml: yaml('filed') })
  const { body } = await call(service, '/accounts/filed')
  assert.deepEqual([body.source, body.concurrency], ['config', 3])
  for (const path of ['', '/pause', '/drain']) {
    const refused = await call(service, `/accounts/filed${path}`, path === '' ? { concurrency: 9 } : null, 'POST')
    assert.equal(refused.status, 400)
    assert.match(refused.body.error.message, /'filed' is set in filmgate\.yaml or by a variable\. Change it there/)
  }
  assert.equal((await remove(service, 'filed')).status, 400)
  const taken = await call(service, '/accounts', { name: 'filed', provider: 'sim-none', base_url: upstream.url })
  assert.deepEqual([taken.status, taken.body.error.param], [400, 'name'])
  await addAccount(service, upstream, 'mine', { concurrency: 7 })
  await service.restart(yaml('mine'))
  assert.deepEqual((await call(service, '/accounts/mine')).body.concurrency, 3)
  assert.deepEqual((await call(service, '/accounts')).body.unused, ['mine: the configuration has the same account'])
  assert.equal((await remove(service, 'mine')).status, 200)
  assert.deepEqual((await call(service, '/accounts')).body.unused, [])
})

it('a test says whether the provider accepts the key, and generates nothing', async () => {
  let status = 200
  const server = createServer((_request, response) => response.writeHead(status).end('{"data":[]}'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => server.close())
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await using service = await startService({ members })
  await call(service, '/accounts', { name: 'engine', provider: 'openai', base_url, key })
  const test = async () => (await act(service, '/accounts/engine/test')).body
  assert.deepEqual([(await test()).state, (await test()).seen], ['usable', 'it accepts our key'])
  status = 401
  const refused = await test()
  assert.deepEqual([refused.state, refused.seen], ['unusable', 'it refuses our key (401)'])
  assert.ok(!JSON.stringify(refused).includes(key))
})

it('the command line adds, shows, changes, drains and removes an account', async () => {
  await using upstream = await startUpstream()
  await using service = await startService({ members })
  const env = { FILMGATE_BASE_URL: `${service.url}/v1`, FILMGATE_OPERATOR_TOKEN: operatorToken }
  const file = join(root, 'key')
  writeFileSync(file, `${key}\n`)
  const run = (...args: string[]) => runCli(['account', ...args], { env, cwd: root })
  const setting = ['--provider', 'sim-none', '--address', upstream.url, '--key-file', file]
  const added = await run('add', 'main', ...setting)
  assert.equal(added.code, 0, added.stderr)
  assert.match(added.stdout, /^name +main\nmode +active\nhealth +ok\nprovider +sim-none\n.*key +set, ends in 7781\n/s)
  assert.ok(!added.stdout.includes(key))
  const changed = await run('change', 'main', '--concurrency', '9', '--json')
  assert.equal((JSON.parse(changed.stdout) as Shown).concurrency, 9)
  assert.match((await run('change', 'main', '--concurrency', 'none')).stdout, /concurrency +4 tasks at once/)
  assert.equal(
    (await run('drain', 'main')).stdout,
    'draining main; 0 unfinished tasks left at its provider; queued tasks wait for other accounts\n',
  )
  assert.match((await run('list')).stdout, /\nmain +draining +sim-none /)
  assert.equal((await run('resume', 'main')).stdout, 'resumed main\n')
  assert.equal((await run('remove', 'main')).stdout, 'removed main\n')
  const mistakes: [string[], number, RegExp][] = [
    [['show', 'main'], 1, /There is no account 'main'/],
    [['add', 'x', '--key-file', join(root, 'none')], 2, /--key-file .*none: it can't be read/],
    [['add', 'x', '--concurrency', 'many'], 2, /use a whole number, or none/],
    [['change', 'x'], 2, /there is nothing to change/],
    [['add', 'x', '--provider', 'nobody'], 1, /there is no provider 'nobody'/],
    [['remve', 'x'], 2, /did you mean remove\?/],
    [['list', '--provider', 'x'], 2, /account list does not accept --provider/],
  ]
  for (const [args, code, said] of mistakes) {
    const ended = await run(...args)
    assert.deepEqual([ended.code, said.test(ended.stderr)], [code, true], ended.stderr)
  }
})

it('models, their routes and aliases are declared, changed and removed', async () => {
  await using upstream = await startUpstream({ speed: 600_000 })
  const yaml = 'models: { filed: { account: studio } }\naliases: { named: studio }'
  await using service = await startService({ members, yaml })
  await addAccount(service, upstream)
  const declare = (path: string, body: object) => call(service, path, body)
  const fast = await declare('/models', { name: 'my/fast', settings: { account: 'main', seconds: { values: [4] } } })
  assert.deepEqual([fast.status, fast.body.source], [200, 'store'], JSON.stringify(fast.body))
  assert.equal((await declare('/aliases', { name: 'quick', model: 'my/fast' })).status, 200)
  const id = await submit(service, { ...film, model: 'quick' })
  await until('it is sent', () => accepted(upstream) === 1)
  assert.equal((await service.submit({ ...film, model: 'my/fast', seconds: '8' })).status, 400)
  // The routes of a model that comes with the account.
  const routed = await declare('/models', { name: 'sim-none', settings: { routes: [{ account: 'main', weight: 2 }] } })
  assert.deepEqual([routed.status, routed.body.source], [200, 'store'])
  const refusals: [string, object, RegExp][] = [
    [
      '/models',
      { name: 'lost', settings: { account: 'nobody' } },
      /models\.lost\.account: there is no account 'nobody'/,
    ],
    ['/models', { name: 'lost', settings: { account: 'main', colour: 'red' } }, /'colour' is not a setting/],
    ['/models', { name: 'filed', settings: { account: 'main' } }, /'filed' is set in filmgate\.yaml/],
    ['/aliases', { name: 'named', model: 'sim-none' }, /'named' is set in filmgate\.yaml/],
    ['/aliases', { name: 'other', model: 'nothing' }, /aliases\.other: there is no model 'nothing'/],
    ['/aliases', { name: 'studio', model: 'my/fast' }, /a model has this name already/],
  ]
  for (const [path, body, said] of refusals) {
    const refused = await declare(path, body)
    assert.equal(refused.status, 400, path)
    assert.match(refused.body.error.message, said)
  }
  const drop = (path: string) => call(service, path, null, 'DELETE')
  assert.match(
    (await drop('/models/my%2Ffast')).body.error.message,
    /can't be removed, because it is used\. aliases\.quick/,
  )
  assert.match((await remove(service, 'main')).body.error.message, /has an unfinished task/)
  await act(service, '/accounts/main/pause')
  const queued = await submit(service, { ...film, model: 'my/fast' })
  assert.equal((await drop('/aliases/quick')).status, 200)
  assert.match((await drop('/models/my/fast')).body.error.message, /the model 'my\/fast' has queued tasks/)
  await act(service, '/accounts/main/resume')
  upstream.setFaults({ speed: 0 })
  for (const one of [id, queued]) assert.equal((await service.finish(one)).status, 'completed')
  assert.equal((await drop('/models/my/fast')).status, 200)
  assert.equal((await service.submit({ ...film, model: 'my/fast' })).status, 404)
  assert.equal((await drop('/models/sim-none')).status, 200)
  assert.equal((await drop('/models/sim-none')).status, 404)
  const { body } = await call(service, '/models')
  const sources = Object.fromEntries(body.data.map(({ name, source }) => [name, source]))
  assert.deepEqual([sources.filed, sources.named, sources['sim-none']], ['config', 'config', 'provider'])
  const audit = (await call(service, '/audit')).body.data.map(({ action, target }) => `${action} ${target}`)
  for (const entry of ['model.set my/fast', 'alias.set quick', 'alias.remove quick', 'model.remove my/fast'])
    assert.ok(audit.includes(entry), entry)
})

it('a model that is declared while its account is removed is stored only if the account stays', async () => {
  await using upstream = await startUpstream()
  await using service = await startService({ members })
  for (let round = 0; round < 5; round += 1) {
    await addAccount(service, upstream)
    const model = { name: 'fast', settings: { account: 'main', seconds: { values: [4] } } }
    const requests = [() => remove(service, 'main'), () => call(service, '/models', model)]
    const [first, second] = await Promise.all((round % 2 === 0 ? requests : requests.reverse()).map((send) => send()))
    assert.deepEqual([first?.status, second?.status].sort(), [200, 400])
    const { body } = await call(service, '/models')
    assert.deepEqual(body.unused, [])
    const isDeclared = body.data.some(({ name }) => name === 'fast')
    assert.equal((await call(service, '/accounts/main')).status, isDeclared ? 200 : 404)
    if (isDeclared) assert.equal((await call(service, '/models/fast', null, 'DELETE')).status, 200)
    if (isDeclared) assert.equal((await remove(service, 'main')).status, 200)
  }
  for (const action of ['resume', 'pause', 'drain'])
    assert.equal((await act(service, `/accounts/main/${action}`)).status, 404)
  // Independent changes at once do not refuse each other.
  const names = Array.from({ length: 12 }, (_, at) => `model-${at}`)
  const all = names.map((name) => call(service, '/models', { name, settings: { account: 'studio' } }))
  assert.deepEqual(new Set((await Promise.all(all)).map(({ status }) => status)), new Set([200]))
})

it('of two accounts that are removed at once, one stays while a model of both has queued tasks', async () => {
  await using upstream = await startUpstream()
  await using service = await startService({ members })
  const names = ['main', 'spare']
  for (const name of names) {
    await addAccount(service, upstream, name)
    await act(service, `/accounts/${name}/pause`)
  }
  const id = await submit(service, film)
  const statuses = (await Promise.all(names.map((name) => remove(service, name)))).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [200, 400])
  await act(service, `/accounts/${names[statuses.indexOf(400)]}/resume`)
  assert.equal((await service.finish(id)).status, 'completed')
})

it('a start knows the models of added accounts when it warns of prices and names', async () => {
  await using upstream = await startUpstream()
  const yaml = `
prices: { models: { sim-none: { price: [{ unit: second, price: "1" }] }, nothing: { markup: "2" } } }
tokens: [{ name: a, secret: a-secret-of-a-0123456789, models: [sim-*, none-*] }]
`
  await using service = await startService({ members, yaml })
  const ofModels = () => service.warnings().filter((warning) => /matches no model|without a price/.test(warning))
  assert.deepEqual(ofModels(), [
    "tokens[0].models[0]: 'sim-*' matches no model",
    "tokens[0].models[1]: 'none-*' matches no model",
    "prices: 'sim-none' matches no model",
    "prices: 'nothing' matches no model",
  ])
  await addAccount(service, upstream)
  await service.restart()
  const unknown = ["tokens[0].models[1]: 'none-*' matches no model", "prices: 'nothing' matches no model"]
  assert.deepEqual(ofModels(), unknown)
  await service.restart(yaml.replace('sim-none: { price: [{ unit: second, price: "1" }] }, ', ''))
  assert.deepEqual(ofModels().slice(0, 2), unknown)
  assert.match(ofModels().join(), /prices: models without a price are refused \(sim-none\)/)
})

it('a model is paused, and has a price of its own', async () => {
  await using service = await startService({ members, yaml: 'prices: {}' })
  const set = (settings: object) => call(service, '/models', { name: 'studio', settings })
  const quote = async () => {
    const headers = { 'content-type': 'application/json' }
    const asked = { method: 'POST', headers, body: JSON.stringify(quick) }
    const answer = await service.fetch('/v1/videos/quote', asked)
    return ((await answer.json()) as { price: { cost: number; currency: string } | null }).price
  }
  assert.equal((await set({ paused: true })).status, 200)
  const refused = await service.submit(quick)
  assert.equal(refused.status, 404)
  assert.match(await refused.text(), /The model 'studio' is paused by the operator\. Use another model/)
  const shown = (await (await service.fetch('/v1/models/studio')).json()) as { paused?: boolean }
  assert.equal(shown.paused, true)
  const wrong = await set({ price: [{ unit: 'second', price: 'much' }] })
  assert.equal(wrong.status, 400)
  assert.equal((await set({ price: [{ unit: 'second', price: '0.05' }] })).status, 200)
  assert.deepEqual(await quote(), { cost: 0.05, currency: 'USD' })
  assert.equal((await service.finish(await submit(service, quick))).status, 'completed')
  assert.equal((await call(service, '/models/studio', null, 'DELETE')).status, 200)
  assert.notEqual((await quote())?.cost, 0.05)
})

it('a change of a model leaves the settings that it does not name', async () => {
  await using service = await startService({ members, yaml: 'models: { filed: { account: studio } }' })
  const change = (name: string, settings: object) => call(service, `/models/${name}`, { settings })
  const price = [{ unit: 'second', price: '0.05' }]
  // At once: neither of them has read what the other one wrote.
  const both = await Promise.all([change('studio', { paused: true }), change('studio', { price })])
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
  const shown = async (name: string) => {
    const { data } = (await call(service, '/models')).body as unknown as {
      data: { name: string; source: string; settings: object | null }[]
    }
    const found = data.find((one) => one.name === name)
    return [found?.source, found?.settings]
  }
  assert.deepEqual(await shown('studio'), ['store', { paused: true, price }])
  const entries = async () => (await call(service, '/audit?limit=100')).body.data.length
  const before = await entries()
  assert.equal((await change('studio', { paused: true, size: null })).status, 200)
  assert.equal(await entries(), before, 'a change of nothing has an entry')
  assert.equal((await change('studio', { paused: null })).status, 200)
  assert.deepEqual(await shown('studio'), ['store', { price }])
  assert.equal((await change('studio', { price: null })).body.source, 'provider')
  assert.deepEqual(await shown('studio'), ['provider', null])
  // A model of the operator's own needs an account.
  await call(service, '/models', { name: 'my/own', settings: { account: 'studio' } })
  assert.equal((await change('my/own', { account: null })).status, 400)
  assert.deepEqual(await shown('my/own'), ['store', { account: 'studio' }])
  assert.match((await change('filed', { paused: true })).body.error.message, /is set in filmgate\.yaml/)
  assert.deepEqual((await change('nothing', { paused: true })).status, 404)
  assert.equal((await change('studio', { colour: 'red' })).status, 400)
})

it('the command line declares models and aliases', async () => {
  await using service = await startService({ members })
  const env = { FILMGATE_BASE_URL: `${service.url}/v1`, FILMGATE_OPERATOR_TOKEN: operatorToken }
  const run = (...args: string[]) => runCli(args, { env, cwd: root })
  const file = join(root, 'settings.json')
  writeFileSync(file, JSON.stringify({ seconds: { values: [4] } }))
  const partial = join(root, 'partial.json')
  writeFileSync(partial, '{"seconds":')
  assert.equal(
    (await run('model', 'set', 'fast', '--account', 'studio', '--settings', file)).stdout,
    'fast is generated by studio\n',
  )
  assert.equal((await run('alias', 'set', 'sora-2', 'fast')).stdout, 'sora-2 is fast\n')
  const { stdout } = await run('model', 'list')
  assert.match(stdout, /^fast +store +studio\n/m)
  assert.match(stdout, /^sora-2 +store +fast +studio\n/m)
  assert.equal((await run('alias', 'remove', 'sora-2')).stdout, 'removed sora-2\n')
  assert.equal((await run('model', 'remove', 'fast')).stdout, 'removed fast\n')
  const mistakes: [string[], number, RegExp][] = [
    [['model', 'set', 'fast'], 2, /there is nothing to set; use --account or --settings/],
    [['model', 'set', 'fast', '--settings', join(root, 'none')], 2, /--settings .*none: it can't be read/],
    [['model', 'set', 'fast', '--settings', partial], 2, /--settings .*partial.json: it is not valid JSON/],
    [['model', 'set', 'fast', '--account', 'nobody'], 1, /there is no account 'nobody'/],
    [['alias', 'set', 'fast'], 2, /the model is missing/],
    [['alias', 'remove', 'fast'], 1, /Nothing was declared for the alias 'fast'/],
  ]
  for (const [args, code, said] of mistakes) {
    const ended = await run(...args)
    assert.deepEqual([ended.code, said.test(ended.stderr)], [code, true], ended.stderr)
  }
})
