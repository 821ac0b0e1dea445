import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { manualClock } from '../core/clock.fixture.ts'
import { Problem } from '../core/problem.ts'
import { openGuesses, UnknownSecret } from './guesses.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

function openWorld() {
  const clock = manualClock()
  const guesses = openGuesses(clock)
  return {
    clock,
    /** Whether the refusal was passed on, and whether the connection is closed. */
    guess(ip: string, error: unknown = new UnknownSecret('no')) {
      const outcome = { isDone: false, isClosed: false }
      const destroy = () => {
        outcome.isClosed = true
      }
      const request = { ip, raw: { socket: { destroy } } } as unknown as FastifyRequest
      guesses.refuse(error, request, { hijack() {} } as FastifyReply, () => {
        outcome.isDone = true
      })
      return outcome
    },
  }
}

it('after 20 unknown secrets in a minute, an address waits for the next refusal, and others do not', async () => {
  const { clock, guess } = openWorld()
  for (let count = 0; count < 20; count += 1) assert.ok(guess('192.0.2.1').isDone)
  const late = guess('192.0.2.1')
  assert.ok(!late.isDone && guess('192.0.2.2').isDone)
  clock.advance(2_999)
  await settled()
  assert.ok(!late.isDone)
  clock.advance(1)
  await settled()
  assert.ok(late.isDone)
  // An address that stops is forgiven.
  clock.advance(60_000)
  assert.ok(guess('192.0.2.1').isDone)
})

it('counts a network of 64 bits of IPv6 as one address, in any spelling', () => {
  const { guess } = openWorld()
  for (let count = 0; count < 20; count += 1) assert.ok(guess(`2001:db8:0:7:${count}::1`).isDone)
  for (const ip of ['2001:db8:0:7::', '2001:0DB8:0000:0007:ffff:ffff:ffff:ffff']) assert.ok(!guess(ip).isDone, ip)
  for (const ip of ['2001:db8:0:8::', '2001:db8::7:0:0:1', '::ffff:192.0.2.1', '::1']) assert.ok(guess(ip).isDone, ip)
  for (let count = 0; count < 19; count += 1) assert.ok(guess('192.0.2.1').isDone)
  assert.ok(!guess('::ffff:192.0.2.1').isDone, 'an address of IPv4 is the same in IPv6')
})

it('waits for 5 seconds at most, however many there were', async () => {
  const { clock, guess } = openWorld()
  const all = Array.from({ length: 200 }, () => guess('192.0.2.1'))
  clock.advance(5_000)
  await settled()
  assert.ok(all.every(({ isDone }) => isDone))
})

it('only an unknown secret counts: a missing, expired or revoked token is refused at once', () => {
  const { guess } = openWorld()
  for (let count = 0; count < 100; count += 1)
    assert.ok(guess('192.0.2.1', new Problem('invalid_api_key', 'expired')).isDone)
})

it('closes the connection without a response if too many wait already', async () => {
  const { clock, guess } = openWorld()
  const outcomes = Array.from({ length: 400 }, () => guess('192.0.2.1'))
  const waiting = outcomes.filter(({ isDone, isClosed }) => !isDone && !isClosed)
  assert.deepEqual([waiting.length, outcomes.filter(({ isClosed }) => isClosed).length], [256, 400 - 256 - 20])
  clock.advance(5_000)
  await settled()
  assert.ok(outcomes.every(({ isDone, isClosed }) => isDone !== isClosed))
})
