import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../core/problem.ts'
import { settleMs } from '../core/timing.ts'
import type { Upstream } from '../outbound.ts'
import type { Provider } from '../providers/provider.ts'
import { newTask } from '../stores/contract.ts'
import { makeWorld } from './contract.ts'
import { submit } from './submit.ts'
import type { Account } from './worker.ts'

/*
 * When a submit may be sent, and when it may be sent again. The provider of this world accepts whatever it is sent: a repeat
 * that must not happen shows as a running task. A provider that throws would hide it, because an error leaves the task held.
 */

const held = newTask('1', { account: 'p', state: 'held', attempt: 'att_1', attempts: 1 })
const settled = { openedAt: 1_000_000 - settleMs }

/** What becomes of a held task whose attempt is that old, at an account like that. */
async function outcome(provider: Partial<Provider>, account: Partial<Account> = {}, attempt = {}) {
  const world = await makeWorld(submit)
  const p = world.tools.accounts.get('p') as Account
  Object.assign(p.provider, provider)
  Object.assign(p, account)
  const { after } = await world.run(held, attempt)
  return [after?.state, after?.operation]
}

it('a submit whose attempt can not be committed asks nothing of its provider but to prepare', async () => {
  const world = await makeWorld(submit)
  const account = world.tools.accounts.get('p') as Account
  const sent: string[] = []
  const send: Upstream['send'] = async (path, _init, _signal, departure) => {
    await departure?.ready()
    sent.push(path)
    return new Response('{}')
  }
  Object.assign(account, { upstream: { ...account.upstream, send } })
  world.known.onCommit = () => Promise.reject(Problem.ofStorage('full'))
  await assert.rejects(world.run(newTask('1', { account: 'p' })), { code: 'storage_unavailable' })
  assert.deepEqual(sent, [])
})

const sentAgain = ['running', 'op']
const notSent = ['held', null]

it('a submit is repeated under its key, but not with another credential, which need not know that key', async () => {
  assert.deepEqual(await outcome({ recovery: 'key' }), sentAgain)
  assert.deepEqual(await outcome({ recovery: 'key' }, { keyVersion: 'rotated' }), notSent)
})

it('a submit that a lookup did not find is repeated only where the provider refuses duplicates', async () => {
  assert.deepEqual(await outcome({ recovery: 'lookup', refusesDuplicates: true }, {}, settled), sentAgain)
  assert.deepEqual(await outcome({ recovery: 'lookup' }, {}, settled), notSent)
})

it('a submit that a lookup did not find is not repeated with another credential', async () => {
  const rotated = { keyVersion: 'rotated' }
  assert.deepEqual(await outcome({ recovery: 'lookup', refusesDuplicates: true }, rotated, settled), notSent)
})
