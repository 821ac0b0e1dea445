import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Problem } from '../../core/problem.ts'
import { isDead, isRefusal, toProblem } from './failures.ts'

const failure = (fields: object) => Object.assign(new Error("the driver's words"), fields)
const codeOf = (error: unknown) => (toProblem(error) as Problem).code

it('an error of the connection means that the database is unavailable, and the connection dead', () => {
  for (const code of ['ECONNREFUSED', 'EAI_AGAIN', 'EPIPE', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
    assert.equal(codeOf(failure({ code })), 'storage_unavailable', code)
    assert.deepEqual([isDead(failure({ code })), isRefusal(failure({ code }))], [true, false], code)
  }
  assert.equal(codeOf(new Error('Connection terminated unexpectedly')), 'storage_unavailable')
})

it('a refusal is recognised in every language of the database', () => {
  for (const severity of ['ERROR', 'FEHLER', 'ERREUR']) {
    assert.ok(isRefusal(failure({ severity, code: '40P01' })), severity)
    assert.equal(codeOf(failure({ severity, code: '40P01' })), 'storage_unavailable', severity)
    const ours = failure({ severity, code: '42601' })
    assert.equal(toProblem(ours), ours)
  }
})

it('a database that ends a connection is unavailable, whatever the code', () => {
  for (const severity of ['FATAL', 'SCHWERWIEGEND'])
    for (const code of ['57P01', '53100', '53300', '28P01', '25P03', '3D000', '58030']) {
      assert.equal(isRefusal(failure({ severity, code })), false, code)
      assert.equal(codeOf(failure({ severity, code })), 'storage_unavailable', code)
    }
})

it('an error of our own is not changed', () => {
  const mistake = new TypeError('x is not a function')
  assert.equal(toProblem(mistake), mistake)
  assert.equal(
    codeOf(failure({ severity: 'ERROR', code: '23505', constraint: 'attempts_operation' })),
    'operation_taken',
  )
})
