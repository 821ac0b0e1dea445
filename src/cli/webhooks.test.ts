import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { runCli, send, startFakeApi } from './cli.fixture.ts'
import type { Terminal } from './terminal.ts'
import { command } from './webhooks.ts'

/* What is said and asked. The whole service answers in test/webhooks-cli.test.ts. */

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-webhooks-cli-'))
after(() => rmSync(cwd, { recursive: true }))

const now = Date.parse('2026-11-15T12:00:00Z')
const endpoint = {
  id: 'whe_1',
  name: 'films\u001b[2J',
  url: 'https://example.com/hook',
  event_types: ['video.failed'],
  created_at: now / 1000 - 7_200,
  updated_at: now / 1000 - 60,
  signing_secret_hint: 'whsec_****abcd',
  disabled_at: now / 1000 - 30,
  disabled_reason: 'The receiver responded with 410 (Gone).',
}

/** Runs it in this process; returns what it said, and asked. */
async function run(args: string[], answer: unknown) {
  const asked: string[] = []
  const said = { out: '', err: '' }
  await using api = await startFakeApi((request, response, body) => {
    asked.push(`${request.method} ${request.url} ${body}`.trim())
    return send(response, 200, answer)
  })
  const terminal = {
    colour: { stdout: false, stderr: false },
    stdoutIsTerminal: false,
    now: () => now,
    env: { FILMGATE_BASE_URL: api.url, FILMGATE_TOKEN: 'x' },
    out(text: string) {
      said.out += text
    },
    err(text: string) {
      said.err += text
    },
  }
  const code = await command.run(args, terminal as unknown as Terminal)
  return { ...said, asked, code }
}

it('shows an endpoint with what is wrong with it, and nothing that could move the cursor', async () => {
  const { out } = await run(['show', 'whe_1'], endpoint)
  assert.match(out, /^id +whe_1\n/)
  assert.match(out, /\ndisabled +30 s ago \(2026-11-15T11:59:30.000Z\): The receiver responded with 410 \(Gone\)\.\n/)
  assert.ok(!out.includes('\u001b'))
  const { out: listed } = await run(['list'], { data: [endpoint], has_more: false })
  assert.match(listed, /whe_1 +disabled +films/)
  const none = { data: [], has_more: false }
  assert.match((await run(['list'], none)).err, /filmgate webhooks add/)
  assert.equal((await run(['deliveries', 'whe_1'], none)).err, 'There are no deliveries.\n')
})

it('prints the secret alone, so that it can be kept', async () => {
  const made = { ...endpoint, signing_secret: 'whsec_AAAA' }
  const added = await run(['add', 'https://example.com/hook', '--events', 'video.failed, video.completed'], made)
  assert.equal(added.out, 'whsec_AAAA\n')
  assert.match(added.err, /added whe_1\. Its signing secret is shown only once/)
  const fields = {
    name: 'example.com',
    url: 'https://example.com/hook',
    event_types: ['video.failed', 'video.completed'],
  }
  assert.deepEqual(added.asked, [`POST /v1/webhook_endpoints ${JSON.stringify(fields)}`])
  for (const [args, keeps] of [
    [['rotate', 'whe_1'], true],
    [['rotate', 'whe_1', '--now'], false],
  ] as const) {
    const rotated = await run([...args], made)
    assert.equal(rotated.out, 'whsec_AAAA\n')
    const body = JSON.stringify({ keep_old_secret_active_for_24_hours: keeps })
    assert.deepEqual(rotated.asked, [`POST /v1/webhook_endpoints/whe_1/rotate_secret ${body}`])
  }
})

it('the exit code of a test follows the response of the endpoint', async () => {
  const answer = (status: number) => ({ event_type: 'video.completed', status_code: status })
  assert.equal((await run(['test', 'whe_1'], answer(204))).code, 0)
  const refused = await run(['test', 'whe_1', '--event', 'video.failed'], answer(302))
  assert.deepEqual([refused.code, refused.asked[0]?.split(' ').at(-1)], [1, '{"event_type":"video.failed"}'])
  assert.match(refused.out, /responded with 302, which counts as a failure/)
})

it('reads a time, or how long ago it was', async () => {
  const since = async (text: string) => {
    const { asked, out } = await run(['replay', 'whe_1', '--failed-since', text], { replayed: 1 })
    assert.equal(out, '1 failed delivery will be tried again\n')
    return JSON.parse(asked[0]?.split(' ').at(-1) ?? '').since
  }
  assert.equal(await since('24h'), now / 1000 - 86_400)
  assert.equal(await since('90m'), now / 1000 - 5_400)
  assert.equal(await since('2026-11-15T09:00Z'), now / 1000 - 10_800)
  assert.equal(await since('2026-11-15'), now / 1000 - 43_200)
  assert.equal(await since('2026-11-15 10:00:00.5+01:00'), now / 1000 - 10_800)
  for (const text of ['', 'yesterday', 'yesterday 3', 'last 7', '5', '12', '24', '2026-11-15T25:00Z'])
    await assert.rejects(since(text), new RegExp(`--failed-since ${text}: use 90m, 24h`))
})

it('says what is missing or unknown before a server is asked', async () => {
  const env = { FILMGATE_BASE_URL: 'http://127.0.0.1:1', FILMGATE_TOKEN: 'x' }
  for (const [args, message] of [
    [[], /the word after webhooks is missing; use one of: list, add/],
    [['lst'], /there is no 'webhooks lst'; did you mean list\?/],
    [['replay', 'whe_1'], /the delivery, or --failed-since, is missing/],
    [['deliveries', 'whe_1', '--limit', '0'], /--limit 0: use a number from 1 to 100/],
    [['add'], /the URL is missing/],
    [['add', ''], /the URL is empty/],
    [['show', ''], /the id of the endpoint is empty/],
    [['replay', 'whe_1', ''], /the delivery, or --failed-since, is empty/],
    [['rotate', '..'], /'\.\.' is not an id/],
    [['replay', 'whe_1', '.'], /'\.' is not an id/],
  ] as const) {
    const { code, stderr } = await runCli(['webhooks', ...args], { env, cwd })
    assert.equal(code, 2, stderr)
    assert.match(stderr, message)
  }
})

it('every word reports a server that does not respond like Filmgate', async () => {
  for (const args of [
    ['list'],
    ['add', 'https://x.test/'],
    ['show', 'whe_1'],
    ['enable', 'whe_1'],
    ['remove', 'whe_1'],
    ['rotate', 'whe_1'],
    ['test', 'whe_1'],
    ['deliveries', 'whe_1'],
    ['replay', 'whe_1', 'wh_1'],
    ['replay', 'whe_1', '--failed-since', '1h'],
  ])
    for (const answer of [{}, [], null, { data: [{}], has_more: false }, { ...endpoint, url: 7 }])
      await assert.rejects(run(args, answer), /did not respond like Filmgate/, args.join(' '))
})
