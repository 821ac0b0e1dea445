import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openAccess } from '../access.ts'
import { digestSecret, newSecret, newTokenId, plainFields, type StoredToken, type Token } from '../core/token.ts'
import type { NewToken, TokenStore } from '../stores/store.ts'
import { gatherTokens, generateToken } from './tokens.ts'

/* Only the process that generated a token has its secret: if it is not shown now, it is lost. */

type Insert = (rows: StoredToken[], token: NewToken, turn: number) => StoredToken | undefined

function tokenStore(insert: Insert) {
  const rows: StoredToken[] = []
  let turn = 0
  const store = {
    insertToken: async (token: NewToken) => insert(rows, token, turn++),
    async updateToken(token: StoredToken) {
      rows[rows.findIndex(({ id }) => id === token.id)] = token
      return token
    },
    tokens: async () => [...rows],
  }
  return { rows, store: store as unknown as TokenStore }
}

const random = (bytes: number) => new Uint8Array(bytes).fill(7)

function add(rows: StoredToken[], token: NewToken): StoredToken | undefined {
  if (rows.some(({ name }) => name === token.name)) return undefined
  const stored = { ...token, revision: rows.length + 1 }
  rows.push(stored)
  return stored
}

const stored = (name: string, digest: string): StoredToken => ({
  ...{ ...plainFields, kind: 'client', id: `tok_${name}`, name, digest, older: [] },
  ...{ createdAt: 1, changedAt: 1, revokedAt: null, revision: 1 },
})

async function make({ rows, store }: ReturnType<typeof tokenStore>) {
  const access = openAccess()
  const secret = await generateToken('client', access, { store, now: 0, random })
  // Only the stored tokens are valid, so ours is valid only if it was stored.
  for (const digest of [...rows.map(({ digest }) => digest), digestSecret(newSecret(newTokenId(0, random), random))])
    assert.equal(
      access.find(digest)?.token,
      rows.find((row) => row.digest === digest),
    )
  return secret
}

it('is shown although the response of the store was lost', async () => {
  const stored = tokenStore((rows, token, turn) => {
    const added = add(rows, token)
    if (turn === 0) throw new Error('the connection broke')
    return added
  })
  const secret = await make(stored)
  assert.ok(secret)
  assert.equal(stored.rows[0]?.digest, digestSecret(secret))
})

it('is shown although the store had done nothing when the connection broke', async () => {
  const stored = tokenStore((rows, token, turn) => {
    if (turn === 0) throw new Error('the connection broke')
    return add(rows, token)
  })
  assert.ok(await make(stored))
})

it('is not shown if another process was quicker: its token is used', async () => {
  const theirs = tokenStore(add)
  theirs.rows.push(stored('default', 'theirs'))
  assert.equal(await make(theirs), null)
})

it('stops the start if the store accepts no token', async () => {
  const stored = tokenStore(() => {
    throw new Error('it is away')
  })
  await assert.rejects(make(stored), /it is away/)
})

const start = async (rows: readonly StoredToken[], configured: readonly Token[]) => {
  const found = tokenStore(add)
  found.rows.push(...rows)
  const warnings: unknown[] = []
  const warn = (...words: unknown[]) => void warnings.push(words)
  const { tokens } = await gatherTokens(configured, { store: found.store, now: 5, write: (_, run) => run(), warn })
  const access = openAccess({ tokens })
  const statuses = found.rows.map(({ digest }) => {
    const valid = access.find(digest)?.token
    return valid && access.statusOf(valid, 5)
  })
  return { warnings, statuses, revoked: found.rows.map(({ revokedAt }) => revokedAt) }
}

it('is revoked with a warning if another token is configured, and without one if its secret is configured too', async () => {
  const generated = stored('default', 'old')
  const own: Token = { kind: 'client', name: 'team-a', digest: 'new', models: ['*'] }
  const event = "the generated token 'default' is no longer valid, because another is configured"
  assert.deepEqual(await start([generated], [own]), {
    warnings: [[event, { fix: 'to keep it, set FILMGATE_TOKEN to its secret' }]],
    statuses: ['revoked'],
    revoked: [5],
  })
  const same: Token = { kind: 'client', name: 'default', digest: 'old', models: ['*'] }
  assert.deepEqual(await start([generated], [own, same]), { warnings: [], statuses: ['active'], revoked: [5] })
  assert.deepEqual((await start([], [own])).warnings, [])
})

it('a token of the store with the name of a configured one is not valid, and the log says so', async () => {
  const own: Token = { kind: 'client', name: 'team-a', digest: 'new', models: ['*'] }
  const { warnings, statuses, revoked } = await start([stored('team-a', 'old')], [own])
  assert.deepEqual([statuses, revoked], [['overridden'], [null]])
  assert.match(JSON.stringify(warnings), /'team-a' of the store is not valid/)
})
