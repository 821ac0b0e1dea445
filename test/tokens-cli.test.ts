import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { runCli, send, startFakeApi } from '../src/cli/cli.fixture.ts'
import { operatorToken, startService, type TestService, token } from './service.ts'

/* `filmgate token`, and what other commands for operators say, with the whole service. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-tokens-cli-'))
let service: TestService

before(async () => {
  const yaml = 'tokens: [{ name: team-a, secret: a-secret-of-team-a }]'
  service = await startService({ yaml, env: { FILMGATE_OPERATOR_TOKEN: operatorToken } })
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

async function statusOf(secret: string): Promise<number> {
  return (await service.fetch('/v1/videos', { headers: { authorization: `Bearer ${secret}` } })).status
}

async function tokenNamed(name: string): Promise<{ id: string }> {
  return JSON.parse((await run('token', 'show', name, '--json')).stdout)
}

const run = (...args: string[]) =>
  runCli(args, { env: { FILMGATE_BASE_URL: service.url, FILMGATE_OPERATOR_TOKEN: operatorToken }, cwd: folder })

it('creates a token that works, and prints only its secret to stdout', async () => {
  const limits = ['--rate', '60', '--concurrency', '2', '--queued', '50', '--stored', '5GB', '--expires', '90d']
  const settings = ['--models', 'studio, kling-*', ...limits]
  const made = await run('token', 'create', 'carla', ...settings, '--metadata', 'team=film,ticket=81')
  assert.equal(made.code, 0, made.stderr)
  const secret = made.stdout.trim()
  assert.match(
    made.stderr,
    /^--models kling-\*: no model matches now; see filmgate model list\ncreated carla \(tok_[0-9a-z]{12}\)\. Its secret is shown only once:\n$/,
  )
  const listed = await runCli(['models'], {
    env: { FILMGATE_BASE_URL: service.url, FILMGATE_TOKEN: secret },
    cwd: folder,
  })
  assert.match(listed.stdout, /studio/)
  const shown = await run('token', 'show', 'carla')
  assert.match(shown.stdout, /\nstatus +active\n/)
  assert.match(shown.stdout, /\nmodels +studio, kling-\*\n/)
  assert.match(shown.stdout, /\nrate +60 videos a minute\n/)
  assert.match(shown.stdout, /\nqueued +50 waiting videos\n/)
  assert.match(shown.stdout, /\nstored +5.0 GB of videos and uploads\n/)
  assert.match(shown.stdout, /\nexpires +in 90 d \(/)
  assert.match(shown.stdout, /\nmetadata ticket +81\n$/)
  assert.ok(!shown.stdout.includes(secret.slice(16)))
})

it('prints the secret of a new token even if the models could not be listed', async () => {
  const made = JSON.parse((await run('token', 'create', 'frida', '--json')).stdout)
  await using api = await startFakeApi(({ url = '' }, response) =>
    url.endsWith('/models') ? send(response, 403, {}) : send(response, 200, made),
  )
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: operatorToken }
  const { code, stdout } = await runCli(['token', 'create', 'frida', '--models', 'kling-*'], { env, cwd: folder })
  assert.deepEqual([code, stdout.trim()], [0, made.secret])
})

it('lists, changes, rotates and revokes by name', async () => {
  const made = await run('token', 'create', 'dora', '--project', 'shop', '--budget', '20/month,1/day@Europe/Berlin')
  const changed = await run('token', 'change', 'dora', '--rate', '5', '--project', 'none', '--name', 'dora b', '--json')
  assert.equal(changed.code, 0, changed.stderr)
  const { rate, project, id } = JSON.parse(changed.stdout)
  assert.deepEqual([rate, project], [5, null])
  const rotated = await run('token', 'rotate', 'dora b', '--overlap', '1h')
  assert.match(rotated.stderr, /^the old secret works for another 1h for dora b /)
  for (const secret of [made.stdout.trim(), rotated.stdout.trim()]) assert.equal(await statusOf(secret), 200)
  const list = await run('token', 'list')
  assert.match(list.stdout, /^NAME +STATUS +KIND +PROJECT +BUDGET .* AT ONCE +ID .*\n/)
  assert.match(list.stdout, new RegExp(`\\ndora b +active +client +1/day,20/month .* ${id} `))
  assert.match(list.stdout, /\noperator +active +admin /)
  const revoked = await run('token', 'revoke', 'dora b')
  assert.deepEqual([revoked.code, revoked.stdout], [0, `revoked dora b (${id})\n`], revoked.stderr)
  for (const secret of [made.stdout.trim(), rotated.stdout.trim()]) assert.equal(await statusOf(secret), 401)
  const all = JSON.parse((await run('token', 'list', '--json')).stdout) as { data: { id: string; status: string }[] }
  assert.equal(all.data.find((one) => one.id === id)?.status, 'revoked')
})

it('ends the token that it uses only if that is confirmed', async () => {
  const secret = (await run('token', 'create', 'second', '--operator', 'admin')).stdout.trim()
  const { id } = await tokenNamed('second')
  for (const args of [
    ['revoke', id],
    ['change', id, '--disable'],
  ]) {
    const asked = await run('token', ...args, '--token', secret)
    assert.deepEqual([asked.code, asked.stdout], [2, ''])
    assert.match(asked.stderr, /is the token that you use: .* no terminal to ask; use --yes\n/)
  }
  assert.equal((await run('token', 'list', '--token', secret)).code, 0)
  const revoked = await run('token', 'revoke', id, '--yes', '--token', secret)
  assert.deepEqual([revoked.code, revoked.stderr], [0, ''])
  assert.equal((await run('token', 'list', '--token', secret)).code, 1)
})

it('shows who changed what, and exports all of it as JSON lines', async () => {
  await run('token', 'create', 'erik', '--rate', '1')
  const { id } = await tokenNamed('erik')
  await run('token', 'change', 'erik', '--rate', '2')
  const shown = await run('audit', '--limit', '2')
  assert.match(shown.stdout, /^WHEN +WHO +WHAT +TARGET +CHANGED +FROM\n/)
  assert.match(
    shown.stdout,
    new RegExp(`\\n(in|just) .* +operator +token\\.change +erik \\(${id}\\) +rate 1 → 2 +127\\.0\\.0\\.1\\n`),
  )
  const lines = (await run('audit', '--export')).stdout.trimEnd().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as { id: string })
  assert.ok(entries.length > 2)
  assert.equal(new Set(entries.map((entry) => entry.id)).size, entries.length)
  const refused = await run('audit', '--limit', '0')
  assert.deepEqual([refused.code, refused.stdout], [2, ''])
})

it('says what is missing, wrong or refused', async () => {
  const cases: [args: string[], code: number, text: RegExp][] = [
    [['token'], 2, /the word after token is missing; use one of: create, list/],
    [['token', 'crate', 'x'], 2, /there is no 'token crate'; did you mean create\?/],
    [['token', 'create'], 2, /the name is missing/],
    [['token', 'create', 'x', '--rate', 'many'], 2, /--rate many: use a whole number, or none/],
    [['token', 'create', 'x', '--stored', '5'], 2, /--stored 5: use 500MB or 50GB, 0 for no limit, or none/],
    [['token', 'create', 'x', '--expires', 'soon'], 2, /--expires soon: use 90m, 24h, 30d/],
    [['token', 'create', 'x', '--overlap', '1h'], 2, /token create does not accept --overlap/],
    [['token', 'create', 'x', '--budget', '1..5'], 2, /--budget 1\.\.5: use an amount such as 5 or 0\.50/],
    [
      ['token', 'create', 'x', '--budget', '1/day@Mars/Base'],
      1,
      /--budget is 'Mars\/Base'\. There is no such time zone/,
    ],
    [['token', 'create', 'x', '--concurrency', '0'], 1, /--concurrency is 0\. Expected a number from 1/],
    [
      ['token', 'create', 'x', '--operator', 'boss'],
      1,
      /--operator is 'boss'\. Allowed: 'admin', 'viewer'\. \(request/,
    ],
    [['token', 'rotate', 'x', '--overlap', '31d'], 2, /--overlap 31d: use up to 30d, such as 90m, 24h or 7d/],
    [['usage', '--by', 'colour'], 1, /--by has 'colour'\. Allowed: token, project/],
    [['account', 'add', 'x', '--provider', 'kling'], 1, /: --key-file: it is missing; send the key/],
    [['account', 'add', 'a b'], 1, /: the account 'a b': it is not a valid name/],
    [['account', 'add', 'studio', '--verify', 'odd'], 1, /--verify is 'odd'\. Allowed: 'full', 'smart', or none\. \(/],
    [['model', 'set', 'x', '--account', 'nosuch'], 1, /: --account: there is no account 'nosuch'/],
    [['alias', 'set', 'x', 'nosuch'], 1, /: the alias 'x': there is no model 'nosuch'/],
    [['token', 'change', 'team-a'], 2, /there is nothing to change/],
    [['token', 'show', 'zoe'], 1, /there is no token 'zoe'/],
    [['token', 'revoke', 'team-a'], 1, /is set in filmgate\.yaml or by a variable/],
    [['token', 'list', '--token', token], 1, /This is a client token.*\nThe token came from --token\./],
  ]
  for (const [args, code, text] of cases) {
    const { stdout, stderr, ...ended } = await run(...args)
    assert.deepEqual([ended.code, stdout], [code, ''], stderr)
    assert.match(stderr, text)
  }
})
