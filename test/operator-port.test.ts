import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { runCli } from '../src/cli/cli.fixture.ts'
import { loadConfig } from '../src/config.ts'
import { start } from '../src/main.ts'
import { operatorToken, startService, token } from './service.ts'

/* Where requests come from, and where operators are heard. */

const as = (secret: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${secret}`, ...more },
})

it('with a port of their own, the routes for operators are there alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-operator-port-'))
  try {
    const env = {
      ...{ FILMGATE_PORT: '0', FILMGATE_OPERATOR_PORT: '0', FILMGATE_DATA: join(folder, 'data') },
      ...{ FILMGATE_CONFIG: '/dev/null', FILMGATE_TOKEN: token, FILMGATE_OPERATOR_TOKEN: operatorToken },
    }
    await using service = await start(loadConfig({ flags: {}, env }), { writeLog: () => {} })
    const { url, operatorUrl } = service
    assert.ok(operatorUrl && operatorUrl !== url)
    const statusOf = async (address: string, init = {}) => (await fetch(address, init)).status
    assert.equal(await statusOf(`${url}/operator/v1/tokens`, as(operatorToken)), 404)
    assert.equal(await statusOf(`${operatorUrl}/operator/v1/tokens`, as(operatorToken)), 200)
    assert.equal(await statusOf(`${operatorUrl}/operator/v1/tokens`, as(token)), 403)
    assert.equal(await statusOf(`${url}/v1/models`, as(token)), 200)
    assert.equal(await statusOf(`${operatorUrl}/v1/models`, as(token)), 404)
    for (const address of [url, operatorUrl]) assert.equal(await statusOf(`${address}/livez`), 200)
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
    assert.ok(document.paths['/operator/v1/tokens'])
    const client = { FILMGATE_BASE_URL: operatorUrl, FILMGATE_OPERATOR_TOKEN: operatorToken }
    const listed = await runCli(['token', 'list'], { env: client, cwd: folder })
    assert.match(listed.stdout, /\ndefault +active +client/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const yaml = `
tokens:
  - { name: anna, secret: a-secret-of-anna-0123456789 }
`

it('an address that a proxy reports counts only if the proxy is trusted', async () => {
  for (const [proxies, status] of [
    ['', 401],
    ['10.0.0.0/8', 401],
    ['127.0.0.1, ::1', 200],
  ] as const) {
    const env = { FILMGATE_OPERATOR_TOKEN: operatorToken, FILMGATE_TRUSTED_PROXIES: proxies }
    await using service = await startService({ yaml, env })
    const headers = { ...as(operatorToken).headers, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'from the office', ip_ranges: ['192.0.2.0/24'] })
    const made = await service.fetch('/operator/v1/tokens', { method: 'POST', headers, body })
    const { secret } = (await made.json()) as { secret: string }
    const statusFrom = async (forwarded: string) =>
      (await service.fetch('/v1/models', as(secret, { 'x-forwarded-for': forwarded }))).status
    assert.equal(await statusFrom('192.0.2.7'), status, proxies)
    // The client wrote the first one itself.
    assert.equal(await statusFrom('192.0.2.7, 203.0.113.1'), 401, proxies)
    assert.equal(await statusFrom('nonsense'), 401, proxies)
    assert.equal(await statusFrom('192.0.2.7:5678'), status, proxies)
  }
})

it('an address that a proxy reports may have a port or brackets, and other text counts as the proxy', async () => {
  const env = { FILMGATE_OPERATOR_TOKEN: operatorToken, FILMGATE_TRUSTED_PROXIES: '127.0.0.1, ::1, 10.0.0.0/8' }
  await using service = await startService({ yaml, env })
  const headers = { ...as(operatorToken).headers, 'content-type': 'application/json' }
  for (const [forwarded, expected] of [
    ['192.0.2.7:5678', /^192\.0\.2\.7$/],
    ['[2001:db8::1]:443', /^2001:db8::1$/],
    ['[2001:db8::1]', /^2001:db8::1$/],
    ['2001:db8::1', /^2001:db8::1$/],
    ['192.0.2.7:5678, 10.1.2.3:4444', /^192\.0\.2\.7$/],
    ['192.0.2.7, unknown, 10.1.2.3:4444', /^10\.1\.2\.3$/],
    ['192.0.2.7:port', /^(127\.0\.0\.1|::ffff:127\.0\.0\.1|::1)$/],
    ['[nonsense]:443', /^(127\.0\.0\.1|::ffff:127\.0\.0\.1|::1)$/],
  ] as const) {
    const body = JSON.stringify({ name: `from ${forwarded}` })
    const request = { method: 'POST', headers: { ...headers, 'x-forwarded-for': forwarded }, body }
    assert.equal((await service.fetch('/operator/v1/tokens', request)).status, 200)
    const audit = await service.fetch('/operator/v1/audit?limit=1', as(operatorToken))
    const { data } = (await audit.json()) as { data: { address: string }[] }
    assert.match(data[0]?.address ?? '', expected, forwarded)
  }
})

it('a short secret of the configuration is a warning that does not show it', () => {
  const load = (env: Record<string, string>) => loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null', ...env } })
  const { warnings } = load({ FILMGATE_TOKEN: 'hunter2', FILMGATE_OPERATOR_TOKEN: 'x'.repeat(20) })
  assert.deepEqual(warnings, [
    'FILMGATE_TOKEN: the secret has fewer than 20 characters; use a random one: openssl rand -hex 32',
  ])
  for (const [name, value] of [
    ['FILMGATE_TRUSTED_PROXIES', 'the office'],
    ['FILMGATE_OPERATOR_PORT', '99999'],
  ] as const)
    assert.throws(() => load({ [name]: value }), new RegExp(`${name}: '${value}' can't be used`))
  assert.throws(
    () => load({ FILMGATE_PORT: '8080', FILMGATE_OPERATOR_PORT: '8080' }),
    /FILMGATE_OPERATOR_PORT: 8080 is also the port of the API.*choose another port for one of them/,
  )
})
