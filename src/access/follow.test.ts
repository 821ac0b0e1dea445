import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openAccess } from '../access.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { plainFields, type StoredToken } from '../core/token.ts'
import { followTokens } from './follow.ts'

const token = (name: string, revision: number, revokedAt: number | null = null): StoredToken => ({
  ...{ ...plainFields, kind: 'client', id: `tok_${name}`, name, digest: name, older: [] },
  ...{ createdAt: 1, changedAt: 1, revokedAt, revision },
})

/** A store that another process changes. */
function openShared(rows: StoredToken[]) {
  const asked: number[] = []
  let ring = () => {}
  let isAway = false
  return {
    asked,
    setAway: (is: boolean) => {
      isAway = is
    },
    change(row: StoredToken) {
      rows = [...rows.filter(({ id }) => id !== row.id), row]
    },
    notify: () => ring(),
    store: {
      async tokens(since = 0) {
        asked.push(since)
        if (isAway) throw new Error('it is away')
        return rows.filter(({ revision }) => revision > since)
      },
      onTokens(listener: () => void) {
        ring = listener
        return () => {}
      },
    },
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

it('applies what another process changed, at a message or half a second later', async () => {
  const shared = openShared([token('a', 1)])
  const access = openAccess({ tokens: [token('a', 1)] })
  const clock = manualClock()
  await using _following = followTokens({
    store: shared.store,
    access,
    clock,
    since: 1,
    log: { info: assert.fail, warn: assert.fail, error: assert.fail },
  })
  const statusOf = (id: string) => {
    const found = access.token(id)
    return found && access.statusOf(found, 0)
  }
  shared.change(token('b', 2))
  shared.notify()
  await settled()
  assert.deepEqual([statusOf('tok_a'), statusOf('tok_b')], ['active', 'active'])
  shared.change(token('a', 3, 7))
  clock.advance(499)
  await settled()
  assert.equal(statusOf('tok_a'), 'active')
  clock.advance(1)
  await settled()
  assert.equal(statusOf('tok_a'), 'revoked')
  assert.deepEqual(shared.asked, [1, 2])
})

it('says once that the store is away, and goes on when it is back', async () => {
  const shared = openShared([])
  const access = openAccess()
  const clock = manualClock()
  const lines: unknown[] = []
  const say = (event: string, { failures }: Record<string, unknown> = {}) => void lines.push([event, failures])
  const log = { info: say, warn: say, error: assert.fail }
  await using _following = followTokens({ store: shared.store, access, clock, since: 0, log })
  shared.setAway(true)
  for (const _ of ['once', 'twice']) {
    clock.advance(500)
    await settled()
  }
  const lost = ["changes of tokens can't be read: revoked tokens may stay valid", undefined]
  assert.deepEqual(lines, [lost])
  shared.setAway(false)
  shared.change(token('a', 1))
  clock.advance(500)
  await settled()
  assert.ok(access.token('tok_a'))
  assert.deepEqual(lines, [lost, ['changes of tokens are read again', 2]])
})

it('a process that was stopped reads the changes before it decides about the next request', async () => {
  const shared = openShared([token('a', 1)])
  const access = openAccess({ tokens: [token('a', 1)] })
  // Stands still, like the timers of a process that has just been continued.
  let now = 0
  const clock = { now: () => now, sleep: (_: number, signal?: AbortSignal) => stopped(signal) }
  await using following = followTokens({
    store: shared.store,
    access,
    clock,
    since: 1,
    log: { info: assert.fail, warn: assert.fail, error: assert.fail },
  })
  now = 1_000
  assert.equal(following.catchUp(), undefined, 'it has not been stopped')
  shared.change(token('a', 2, 7))
  now = 20_000
  const [first, second] = [following.catchUp(), following.catchUp()]
  assert.ok(first && first === second, 'requests share one look')
  await first
  const found = access.token('tok_a')
  assert.equal(found && access.statusOf(found, now), 'revoked')
  assert.equal(following.catchUp(), undefined)
})

function stopped(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()))
}
