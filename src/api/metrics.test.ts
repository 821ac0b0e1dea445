import assert from 'node:assert/strict'
import { it } from 'node:test'
import { maySkipToken, prefersOpenMetrics } from './metrics.ts'

/** What Prometheus 3 sends. */
const prometheus =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,' +
  'text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'

for (const [accept, expected] of [
  ['', false],
  ['*/*', false],
  ['text/plain', false],
  ['text/plain;version=0.0.4;q=0.5,*/*;q=0.1', false],
  ['application/openmetrics-text', true],
  ['Application/OpenMetrics-Text; version=1.0.0; charset=utf-8', true],
  [prometheus, true],
  ['text/plain, application/openmetrics-text;q=0.9', false],
  ['application/openmetrics-text;q=0', false],
  ['application/openmetrics-text;q=nonsense', false],
] as const)
  it(`Accept: '${accept.slice(0, 60)}' ${expected ? 'prefers' : 'does not prefer'} OpenMetrics`, () => {
    assert.equal(prefersOpenMetrics(accept), expected)
  })

/** A request from that address, without a trusted proxy. */
const from = (ip: string, headers: Record<string, string> = {}) => ({ ip, headers, socket: { remoteAddress: ip } })

it('an allowed address needs no token', () => {
  const rules = { allow: ['10.0.0.0/8', '2001:db8::/32'], trustsLoopback: false }
  for (const [ip, expected] of [
    ['10.1.2.3', true],
    ['::ffff:10.1.2.3', true],
    ['2001:db8::1', true],
    ['11.0.0.1', false],
    ['127.0.0.1', false],
    ['nonsense', false],
    ['', false],
  ] as const)
    assert.equal(maySkipToken(from(ip), rules), expected, ip)
})

it('an allowed address that is a proxy for others counts only if the proxy is trusted', () => {
  const rules = { allow: ['10.0.0.0/8'], trustsLoopback: false }
  const forwarded = { 'x-forwarded-for': '10.0.0.7' }
  for (const headers of [forwarded, { via: '1.1 x' }, { 'x-real-ip': '8.8.8.8' }, { 'cf-connecting-ip': '8.8.8.8' }])
    assert.equal(maySkipToken(from('10.0.0.1', headers), rules), false, JSON.stringify(headers))
  assert.equal(maySkipToken({ ...from('10.0.0.7', forwarded), socket: { remoteAddress: '10.0.0.1' } }, rules), true)
})

it('a proxy that is trusted can’t claim to be this machine', () => {
  const forwarded = { 'x-forwarded-for': '127.0.0.1' }
  for (const rules of [
    { allow: [], trustsLoopback: true },
    { allow: ['127.0.0.0/8'], trustsLoopback: false },
  ])
    for (const remoteAddress of ['10.0.0.1', '127.0.0.1'])
      assert.equal(maySkipToken({ ip: '127.0.0.1', headers: forwarded, socket: { remoteAddress } }, rules), false)
})

it('at the operator’s listener this machine needs no token, unless a proxy passes the request on', () => {
  const rules = { allow: [], trustsLoopback: true }
  for (const [ip, headers, expected] of [
    ['127.0.0.1', {}, true],
    ['::1', {}, true],
    ['192.0.2.1', {}, false],
    ['127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }, false],
    ['127.0.0.1', { forwarded: 'for=192.0.2.1' }, false],
  ] as [string, Record<string, string>, boolean][])
    assert.equal(maySkipToken(from(ip, headers), rules), expected, `${ip} ${JSON.stringify(headers)}`)
})
