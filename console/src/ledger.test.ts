import assert from 'node:assert/strict'
import { it } from 'node:test'
import { moneyOf, readLedgerAccount, readLedgerStep } from './ledger.ts'

const entry = (step: string, account: string, amount: number) => ({
  ...{ step, account, amount, currency: 'USD' },
  at: '2026-11-18T12:00:00.000Z',
})
const reserve = [entry('reserve', 'funds tok_1', -0.42), entry('reserve', 'reserved tok_1', 0.42)]
const close = [
  entry('close', 'reserved tok_1', -0.42),
  entry('close', 'revenue tok_1', 0.3),
  entry('close', 'funds tok_1', 0.12),
]
const cost = (attempt: string, amount: number) => [
  entry(`cost ${attempt}`, 'cost kling', amount),
  entry(`cost ${attempt}`, 'providers kling', -amount),
]

it('says what the client pays and what the provider charged for all attempts', () => {
  assert.equal(moneyOf([]), null)
  assert.deepEqual(moneyOf(reserve), { currency: 'USD', reserved: 0.42, paid: 0, charged: null })
  assert.deepEqual(moneyOf([...reserve, ...close, ...cost('att_1', 0.1), ...cost('att_2', 0.2)]), {
    ...{ currency: 'USD', reserved: null, paid: 0.3, charged: 0.3 },
  })
})

it('reads the names of accounts and steps, which may have spaces', () => {
  assert.deepEqual(readLedgerAccount('funds my shop'), { kind: 'funds', name: 'my shop' })
  assert.equal(readLedgerAccount('other x'), null)
  assert.deepEqual(readLedgerStep('cost att_1'), { kind: 'cost', attempt: 'att_1' })
  assert.deepEqual(readLedgerStep('close'), { kind: 'close', attempt: null })
  assert.equal(readLedgerStep('else'), null)
})
