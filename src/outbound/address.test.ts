import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowsAddress, allowsHost, isPublic, parseAllow, sameAddress } from './address.ts'

// First and last address of every range that must never be reached, and of ranges with a hole next to them.
const notPublic = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255', '100.100.100.200'],
  ['127.0.0.0', '127.255.255.255'],
  ['168.63.129.16'],
  ['169.254.0.0', '169.254.255.255', '169.254.169.254'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255', '192.0.0.192'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.52.193.0', '192.175.48.0'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
  ['::', '::1', '::127.0.0.1', '::8.8.8.8', '::ffff:ffff'],
  ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:0:7f00:1'],
  ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1'],
  ['100::', '100::ffff:ffff:ffff:ffff', '100:0:0:1::1'],
  ['2001::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1', '2001:20::1', '2001:1ff:ffff::'],
  ['2001:db8::1', '2002::', '2002:7f00:1::', '2002:ffff::', '2620:4f:8000::1', '3fff::1', '3fff:fff::1'],
  ['5f00::1', '4000::1', '1fff::1', '8000::1'],
  [
    'fc00::',
    'fdff::1',
    'fd00:ec2::254',
    'fe00::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'ff02::1',
    'ffff::',
  ],
  ['', 'localhost', '127.1', '0x7f000001', '2130706433', '0177.0.0.1', '1.1.1.1:80', '[2606:4700::1111]', ' 1.1.1.1'],
].flat()

for (const address of notPublic) {
  test(`"${address}" is not a public address`, () => assert.equal(isPublic(address), false))
}

const publicAddresses = [
  ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.15', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255'],
  ['198.17.255.255', '198.20.0.0', '223.255.255.255', '2606:4700::1111', '2001:200::1', '2001:4860:4860::8888'],
  ['2003::1', '2a00:1450:4001::1', '2000::1'],
].flat()

for (const address of publicAddresses) {
  test(`"${address}" is a public address`, () => assert.equal(isPublic(address), true))
}

test('an exception for a range covers its addresses on every port, and no others', () => {
  const allow = [parseAllow('10.1.0.0/16'), parseAllow('fd00:1::/32')].filter((entry) => entry !== undefined)
  assert.equal(allow.length, 2)
  assert.equal(allowsAddress(allow, '10.1.255.1', 22), true)
  assert.equal(allowsAddress(allow, '10.2.0.1', 80), false)
  assert.equal(allowsAddress(allow, 'fd00:1::1', 80), true)
  assert.equal(allowsAddress(allow, '::ffff:10.1.0.1', 80), false)
  assert.equal(allowsHost(allow, '10.1.0.1', 80), false)
})

test('an exception with a port covers that port only', () => {
  for (const [entry, address] of [
    ['127.0.0.1:9000', '127.0.0.1'],
    ['[::1]:9000', '::1'],
  ] as const) {
    const allow = [parseAllow(entry) ?? assert.fail(entry)]
    assert.equal(allowsAddress(allow, address, 9000), true, entry)
    assert.equal(allowsAddress(allow, address, 80), false, entry)
    assert.equal(allowsAddress(allow, '127.0.0.2', 9000), false, entry)
  }
})

test('an exception for a name covers that name, however it is written, and no name below it', () => {
  for (const entry of ['images.corp.internal', 'IMAGES.corp.internal.', 'images.corp.internal:8000']) {
    const allow = [parseAllow(entry) ?? assert.fail(entry)]
    assert.equal(allowsHost(allow, 'images.corp.internal', 8000), true, entry)
    assert.equal(allowsHost(allow, 'x.images.corp.internal', 8000), false, entry)
    assert.equal(allowsHost(allow, 'corp.internal', 8000), false, entry)
    assert.equal(allowsHost(allow, 'images.corp.internal', 80), !entry.includes(':'), entry)
  }
})

for (const entry of [
  '127.0.0.1',
  '::1',
  '[::1]',
  '0.0.0.0/0',
  '::/0',
  'localhost',
  'bücher.example',
  'a_b.example:80',
]) {
  test(`"${entry}" is an exception that can be made`, () => assert.notEqual(parseAllow(entry), undefined))
}

const notAllow = [
  ['', ' ', '127.1', '0x7f000001', '2130706433', '10.0.0.0/33', '010.0.0.0/8', '10.0.0.0/', '10.0.0.0/8/8', '10/8'],
  ['10.0.0.0/-1', '10.0.0.0/8:80', '127.0.0.1:0', '127.0.0.1:65536', '127.0.0.1:', '[127.0.0.1]:80', '[::1', '::1]'],
  ['[]', '[::1]x', 'fe80::1%eth0', '::/129', '*.corp.internal', 'http://example.com', 'example.com/path', 'a b'],
  [
    'user@example.com',
    'exa\nmple.com',
    '%6cocalhost',
    'a\\b',
    'a..b',
    '.',
    'example.com?',
    'example.com#x',
    '127.0.0.1.',
    '300.1.1.1',
  ],
].flat()

for (const entry of notAllow) {
  test(`"${entry}" is no exception that can be made`, () => assert.equal(parseAllow(entry), undefined))
}

test('two spellings of an address are the same address', () => {
  assert.equal(sameAddress('2606:4700:0:0::1111', '2606:4700::1111'), true)
  assert.equal(sameAddress('127.0.0.1', '127.0.0.2'), false)
  assert.equal(sameAddress('127.0.0.1', '::ffff:127.0.0.1'), false)
  assert.equal(sameAddress('x', 'x'), false)
})
