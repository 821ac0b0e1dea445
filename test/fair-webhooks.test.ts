import assert from 'node:assert/strict'
import { it } from 'node:test'
import { until } from './service.ts'
import { startReceiver, WebhookWorld } from './webhook-world.ts'

const attacker = 'the key of the attacker'
const endpoints = 16
const events = 10

/*
 * 64 requests go out at once, and the longest due were sent first: 16 endpoints that answered after 9 to 14 s kept the
 * event of another token from leaving for more than 75 s instead of 0.4 s.
 */
it('one token’s 16 slow endpoints do not keep another token’s event from leaving', async () => {
  await using stack = new AsyncDisposableStack()
  const slow = await Promise.all(Array.from({ length: endpoints }, startReceiver))
  const yaml = `tokens: [{ name: attacker, secret: ${attacker} }]\n`
  const world = stack.use(await WebhookWorld.open({ yaml, allowed: slow }))
  // Closed before the service, which waits for its open requests.
  for (const receiver of slow) stack.use(receiver)
  let ended = 0
  for (const receiver of slow) receiver.handle = (_, response) => void response.once('close', () => (ended += 1))
  const url = (number: number) => ({ url: `${slow[number]?.url}/hook` })
  for (let number = 0; number < endpoints; number += 1)
    await world.json('', { name: 'slow', event_types: ['video.failed'], ...url(number) }, { as: attacker })
  for (let number = 0; number < events; number += 1) await world.fail({ authorization: `Bearer ${attacker}` })
  const begun = () => slow.reduce((sum, { all }) => sum + all.length, 0)
  await until('the slow endpoints hold the slots that they get', () => begun() >= 2 * endpoints)
  await world.create()
  const endedBefore = ended
  await world.fail()
  await until('the other token’s event arrives', () => world.receiver.all.length > 0)
  assert.equal(ended, endedBefore)
  assert.ok(begun() < endpoints * events, 'the attack is over')
})
