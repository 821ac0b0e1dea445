import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import { explain } from './unusable.ts'

const failure = (message: string, code?: string) => Object.assign(new Error(message), code && { code })

it('an error at the start has its fix, on one line', () => {
  for (const [message, code, fix] of [
    ['role "u" does not exist', '28000', /; check the user in its URL/],
    ['password authentication failed for user "u"', '28P01', /; check the user and the password, .*PGPASSWORD$/],
    [
      'SASL authentication failed',
      '08P01',
      /; check the user and the password, .*PGPASSWORD, and the log of the pooler$/,
    ],
    ['database "d" does not exist', '3D000', /; create the database/],
    ['permission denied for schema public', '42501', /; allow its user to create tables: GRANT/],
    ['relation "tasks" already exists', '42P07', /; .*use an empty database$/],
    ['no schema has been selected to create in', '3F000', /; create the schema/],
    ['connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED', /; check the host and the port/],
    ['getaddrinfo ENOTFOUND db', 'ENOTFOUND', /; check the host/],
    ['getaddrinfo EAI_AGAIN db', 'EAI_AGAIN', /; check the host/],
    ['Port should be >= 0 and < 65536.', 'ERR_SOCKET_BAD_PORT', /; give its port/],
    ['self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT', /; give the CA .*sslrootcert=/],
    ['timeout expired', undefined, /; check the host and the port/],
    ['The server does not support SSL connections', undefined, /; enable TLS/],
    ['a message of ours; upgrade it', undefined, /^a message of ours; upgrade it$/],
    ['two\n  lines', 'XX000', /^two lines; check its URL/],
  ] as const) {
    const text = explain(failure(message, code))
    assert.ok(text.startsWith(message.split('\n')[0] ?? ''), text)
    assert.match(text, fix)
    assert.equal(explain(Problem.ofStorage(failure(message, code))), text)
  }
})

it('a missing password has a message of our own', () => {
  for (const what of ['a string', 'a non-empty string']) {
    const text = explain(failure(`SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be ${what}`))
    assert.equal(text, 'it requires a password; give one in its URL, or as PGPASSWORD')
  }
})

it('an error without a message is named by its code', () => {
  assert.match(explain(failure('', 'ECONNREFUSED')), /^ECONNREFUSED; check the host/)
})
