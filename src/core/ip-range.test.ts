import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readIpRange } from './ip-range.ts'

it('reads addresses and ranges of both families, and nothing else', () => {
  const good: [text: string, bits: number, family: string][] = [
    ['10.0.0.0/8', 8, 'ipv4'],
    ['203.0.113.7', 32, 'ipv4'],
    ['0.0.0.0/0', 0, 'ipv4'],
    ['2001:db8::/32', 32, 'ipv6'],
    ['::1', 128, 'ipv6'],
    ['::ffff:10.0.0.1', 128, 'ipv6'],
  ]
  for (const [text, bits, family] of good) {
    const range = readIpRange(text)
    assert.deepEqual([range?.address, range?.bits, range?.family], [text.split('/')[0], bits, family], text)
  }
  const bad = [
    '',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.00',
    '::ffff:010.0.0.1',
    '10.0.0.0/8/8',
    '::/129',
    '10.0.0.0/',
    'localhost',
    'fe80::1%eth0',
    '::1]',
    '1:2:3',
  ]
  for (const text of bad) assert.equal(readIpRange(text), undefined, text)
})
