import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRotation, openSlots, type Slots, takeInRounds } from './shares.ts'

/** How many more that owner gets. */
function fill(slots: Slots, owner: string): number {
  let got = 0
  takeInRounds([owner], () => {
    if (!slots.hasSlot(owner)) return false
    slots.take(owner)
    got += 1
    return true
  })
  return got
}

it('gives an owner who is alone half of the slots, and each who comes later half of the rest', () => {
  const slots = openSlots(24)
  assert.deepEqual(
    ['alice', 'bob', 'carol', 'dave', 'eve', 'frank'].map((owner) => fill(slots, owner)),
    [12, 6, 3, 2, 1, 0],
  )
})

it('has a slot at once for an owner who has none, also where there are only two', () => {
  for (const total of [2, 4, 8, 16, 64]) {
    const slots = openSlots(total)
    assert.equal(fill(slots, 'alice'), total / 2)
    assert.ok(slots.hasSlot('bob'), String(total))
  }
  assert.equal(fill(openSlots(1), 'alice'), 1)
})

it('gives an owner who held more than its share nothing until it holds less than is free', () => {
  const slots = openSlots(16, [...Array(8).fill('alice'), ...Array(4).fill('bob')])
  assert.deepEqual([slots.hasSlot('alice'), slots.hasSlot('bob'), slots.hasSlot('carol')], [false, false, true])
})

it('serves the owner that was served longest ago first, and a new owner before all others', () => {
  const rotation = openRotation()
  for (const owner of ['alice', 'bob', 'alice']) rotation.serve(owner)
  assert.deepEqual(rotation.inTurn(['alice', 'bob', 'carol', 'dave']), ['carol', 'dave', 'bob', 'alice'])
})
