import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { runCli, send, startFakeApi } from './cli.fixture.ts'

/* `filmgate usage`, with a fake server. test/usage.test.ts has the whole service. */

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-usage-'))
after(() => rmSync(cwd, { recursive: true }))

const counts = { tasks: 4, completed: 2, failed: 1, cancelled: 1, success_rate: 0.6667, seconds: 8 }
const times = { p50_ms: 12_300, p95_ms: 180_000 }
const money = (cost: number, revenue: number) => ({ cost, revenue, currency: 'USD' })
const groups = [
  { token: 'tok_1', token_name: 'anna', day: '2026-11-15', ...counts, ...money(0.1, 0.3), ...times },
  { token: null, token_name: null, day: '2026-11-16', ...counts, ...money(0.2, 0.6), ...times },
]
const operatorReport = { object: 'operator.usage', group_by: ['token', 'day'], data: groups }
const own = { model: '=fox\u001b[31m', ...counts, cost: 0.42, currency: 'USD', ...times }
const clientReport = { object: 'usage', group_by: ['model'], data: [own] }
const operatorCsv = 'token,token_name,day,tasks\r\ntok_1,anna,2026-11-15,4\r\n'
const clientCsv = "model,tasks\r\n'=fox\u001b[31m,4\r\n\u001b=fox,4\r\n"
const forbidden = { error: { message: 'This is a client token.', code: 'permission_denied' } }

/** A server with an operator token `op` and a client token `me`. It keeps the addresses that were requested. */
async function startServer() {
  const asked: string[] = []
  const api = await startFakeApi(({ url = '', headers }, response) => {
    asked.push(url)
    const isOperators = url.startsWith('/operator/v1/usage')
    if (isOperators && headers.authorization !== 'Bearer op') return send(response, 403, forbidden)
    if (!url.includes('format=csv')) return send(response, 200, isOperators ? operatorReport : clientReport)
    const csv = isOperators ? operatorCsv : clientCsv
    response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).end(csv)
    return true
  })
  return Object.assign(api, { asked })
}

it('operators see groups by the names of tokens, with totals', async () => {
  await using api = await startServer()
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'op', FILMGATE_TOKEN: 'me' }
  const args = ['usage', '--by', 'token,day', '--since', '2026-11-15', '--before', '2026-11-17T00:00Z']
  const { code, stdout, stderr } = await runCli(
    [...args, '--project', 'shop', '--token-id', 'tok_1', '--error', 'timeout'],
    { env, cwd },
  )
  assert.equal(code, 0, stderr)
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/).join(' | '))
  assert.deepEqual(lines, [
    'TOKEN | DAY | TASKS | SUCCESS | SECONDS | COST | REVENUE | P50 | P95',
    'anna | 2026-11-15 | 4 | 66.7 % | 8 | 0.1 USD | 0.3 USD | 12 s | 3 min',
    '– | 2026-11-16 | 4 | 66.7 % | 8 | 0.2 USD | 0.6 USD | 12 s | 3 min',
    'total | 8 | 66.7 % | 16 | 0.3 USD | 0.9 USD',
    '',
  ])
  const query = new URL(api.asked[0] ?? '', api.url).searchParams
  assert.deepEqual(Object.fromEntries(query), {
    group_by: 'token,day',
    since: '2026-11-15T00:00:00.000Z',
    before: '2026-11-17T00:00:00.000Z',
    project: 'shop',
    token: 'tok_1',
    error_code: 'timeout',
  })
})

it('there is one total for each currency, and one for what has no price', async () => {
  let data: object[] = []
  await using api = await startFakeApi((_, response) =>
    send(response, 200, { object: 'operator.usage', group_by: ['project'], data }),
  )
  const totals = async () => {
    const env = { FILMGATE_BASE_URL: api.url, FILMGATE_OPERATOR_TOKEN: 'op' }
    const { stdout } = await runCli(['usage', '--by', 'project'], { env, cwd })
    return stdout.split('\n').flatMap((line) => (line.startsWith('total') ? [line.split(/ {2,}/).join(' | ')] : []))
  }
  const group = (currency: string | null) => ({ project: 'shop', ...counts, ...money(0.1, 0.3), currency, ...times })
  data = [group('USD'), group(null), group('USD'), group('EUR'), group(null)]
  assert.deepEqual(await totals(), [
    'total in USD | 8 | 66.7 % | 16 | 0.2 USD | 0.6 USD',
    'total without price | 8 | 66.7 % | 16',
    'total in EUR | 4 | 66.7 % | 8 | 0.1 EUR | 0.3 EUR',
  ])
  data = [group(null), group(null)]
  assert.deepEqual(await totals(), ['total | 8 | 66.7 % | 16'])
})

it("a client's token shows its own project, from its variable or from --token", async () => {
  await using api = await startServer()
  for (const [args, env] of [
    [[], { FILMGATE_TOKEN: 'me' }],
    [['--token', 'me'], {}],
  ] as const) {
    const { code, stdout } = await runCli(['usage', ...args], { env: { FILMGATE_BASE_URL: api.url, ...env }, cwd })
    assert.equal(code, 0)
    assert.match(stdout, /^=fox \[31m +4 +66\.7 % +8 +0\.42 USD +12 s +3 min$/m)
    assert.doesNotMatch(stdout, /REVENUE|total/)
  }
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_TOKEN: 'me' }
  const { code, stderr } = await runCli(['usage', '--account', 'main'], { env, cwd })
  assert.equal(code, 2)
  assert.match(stderr, /--account needs an operator's token/)
  const refused = await runCli(['usage'], { env: { ...env, FILMGATE_OPERATOR_TOKEN: 'me' }, cwd })
  assert.equal(refused.code, 1, "another token is not used in place of the operator's")
})

it('prints the CSV of the server without control characters, and JSON as the server sent it', async () => {
  await using api = await startServer()
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_TOKEN: 'me' }
  const csv = await runCli(['usage', '--csv', '--by', 'model'], { env, cwd })
  assert.equal(csv.stdout, "model,tasks\r\n'=fox [31m,4\r\n =fox,4\r\n")
  assert.deepEqual(api.asked, ['/v1/usage?group_by=model&format=csv'])
  const json = await runCli(['usage', '--json'], { env, cwd })
  assert.deepEqual(JSON.parse(json.stdout), clientReport)
  const operators = await runCli(['usage', '--csv'], { env: { ...env, FILMGATE_OPERATOR_TOKEN: 'op' }, cwd })
  assert.equal(operators.stdout, operatorCsv)
  assert.equal((await runCli(['usage', '--csv', '--json'], { env, cwd })).code, 2)
})

it('reports a server that does not respond like Filmgate, and a time without tasks', async () => {
  let answer: unknown
  await using api = await startFakeApi((_, response) => send(response, 200, answer))
  const env = { FILMGATE_BASE_URL: api.url, FILMGATE_TOKEN: 'me' }
  for (answer of [{}, { group_by: ['model'], data: [{}] }, { group_by: 'model', data: [] }]) {
    const { code, stderr } = await runCli(['usage'], { env, cwd })
    assert.equal(code, 1)
    assert.match(stderr, /did not respond like Filmgate/)
  }
  const csv = await runCli(['usage', '--csv'], { env, cwd })
  assert.deepEqual([csv.code, csv.stdout], [1, ''])
  assert.match(csv.stderr, /did not respond like Filmgate/)
  answer = { object: 'usage', group_by: ['model'], data: [] }
  const { code, stdout, stderr } = await runCli(['usage'], { env, cwd })
  assert.deepEqual([code, stdout, stderr], [0, '', 'No task ended in that time.\n'])
})
