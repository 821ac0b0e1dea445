import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { it } from 'node:test'
import { programToPaste } from './program.ts'
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

it('the command to paste is npx filmgate, unless filmgate is on the PATH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-path-'))
  const PATH = ['/nowhere', folder].join(delimiter)
  assert.deepEqual([programToPaste({ PATH }), programToPaste({})], ['npx filmgate', 'npx filmgate'])
  writeFileSync(join(folder, 'filmgate'), '')
  assert.equal(programToPaste({ PATH }), 'filmgate')
  // npm puts it on the PATH of its own processes only.
  assert.equal(programToPaste({ PATH, npm_command: 'exec' }), 'npx filmgate')
  rmSync(folder, { recursive: true })
})
