import assert from 'node:assert/strict'
import { it } from 'node:test'
import { decimalPattern, fromMicros, moneyText, multiply, sum, toDecimal, toMicros, toText } from './money.ts'

it('a price is a decimal number and nothing else', () => {
  const isPrice = (text: string) => new RegExp(decimalPattern).test(text)
  for (const text of ['0', '0.5', '999999999.999999999999']) assert.ok(isPrice(text), text)
  for (const text of ['', '-1', '+1', '1e-7', '.5', '5.', '1,5', ' 1', '0x1', 'NaN', '1'.repeat(10), '0.0000000000001'])
    assert.ok(!isPrice(text), text)
  assert.deepEqual(toDecimal('0.084'), { digits: 84n, scale: 3 })
  assert.deepEqual(toDecimal('12'), { digits: 12n, scale: 0 })
  assert.throws(() => toDecimal('1e-7'), /'1e-7' is not a decimal number/)
})

it('multiplies and adds exactly, and rounds up once, at the end', () => {
  const times = (price: string, quantity: string) => multiply(toDecimal(price), toDecimal(quantity))
  // As floating point numbers these are 0.30000000000000004 and 0.5700000000000001.
  assert.equal(toMicros(sum([times('0.1', '1'), times('0.2', '1')])), 300_000)
  assert.equal(toMicros(times('0.19', '3')), 570_000)
  assert.equal(toText(times('0.19', '1.1')), '0.209')
  assert.equal(toMicros(times('0.0000025', '108900')), 272_250)
  assert.equal(toMicros(times('0.0000001', '1')), 1)
  // Rounded by itself, each of the three would be 1 micro.
  assert.equal(toMicros(sum([times('0.0000001', '1'), times('0.0000001', '1'), times('0.0000001', '1')])), 1)
  assert.equal(toMicros(sum([])), 0)
  assert.equal(toMicros(times('999999999', '999999999')), undefined)
})

it('shows an amount as a number and as text', () => {
  assert.deepEqual(
    [0, 1, 420_000, 5_000_000, 10_000_000, 123_456_789].map(fromMicros),
    [0, 0.000001, 0.42, 5, 10, 123.456789],
  )
  assert.equal(moneyText(Number.MAX_SAFE_INTEGER, 'USD'), '9007199254.740991 USD')
  assert.equal(moneyText(420_000, 'USD'), '0.42 USD')
  assert.equal(moneyText(-1_500_000, 'EUR'), '-1.5 EUR')
})
