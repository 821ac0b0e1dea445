import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startFailure } from './serve.ts'

const place = { host: '127.0.0.1', port: 80 }
const thrown = (fields: object) => Object.assign(new Error('as it was'), fields)
const said = (fields: object) => (startFailure(thrown(fields), place) as Error).message

it('the address is named only in errors of listening', () => {
  assert.match(said({ code: 'EACCES', syscall: 'listen' }), /^this user may not use port 80 on 127\.0\.0\.1;/)
  assert.match(said({ code: 'EADDRINUSE', syscall: 'listen' }), /^port 80 on 127\.0\.0\.1 is already in use;/)
  assert.match(said({ code: 'EADDRNOTAVAIL', syscall: 'listen' }), /^127\.0\.0\.1 is not an address of this machine;/)
  assert.match(
    said({ code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: place.host }),
    /is not an address of this machine/,
  )
  for (const fields of [
    { code: 'EACCES', syscall: 'mkdir', path: '/data/accounts' },
    { code: 'EADDRNOTAVAIL', syscall: 'connect' },
    { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'database.example' },
    {},
  ])
    assert.equal(said(fields), 'as it was')
})
