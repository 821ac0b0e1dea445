import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openAccess } from '../access.ts'
import { digestSecret, newSecret, type Token } from '../core/token.ts'
import type { Store } from '../stores/store.ts'
import { gatherTokens, generateToken } from './tokens.ts'

/* Only the process that generated a token has its secret: if it is not shown now, it is lost. */

function tokenStore(insert: (rows: Token[], token: Token, turn: number) => void) {
  const rows: Token[] = []
  let turn = 0
  const store = {
    insertToken: async (token: Token) => insert(rows, token, turn++),
    deleteToken: async (gone: string) =>
      rows.splice(
        rows.findIndex(({ name }) => name === gone),
        1,
      ),
    tokens: async () => [...rows],
  }
  return { rows, store: store as unknown as Store }
}

const random = (bytes: number) => new Uint8Array(bytes).fill(7)

function add(rows: Token[], token: Token): void {
  if (rows.some(({ name }) => name === token.name)) throw new Error('the name is taken')
  rows.push(token)
}

async function make({ rows, store }: ReturnType<typeof tokenStore>) {
  const access = openAccess()
  const secret = await generateToken('client', access, { store, now: 0, random })
  // Only the stored tokens are valid, so ours is valid only if it was stored.
  for (const digest of [...rows.map(({ digest }) => digest), digestSecret(newSecret(random))])
    assert.equal(
      access.find(digest),
      rows.find((row) => row.digest === digest),
    )
  return secret
}

it('is shown although the response of the store was lost', async () => {
  const stored = tokenStore((rows, token, turn) => {
    add(rows, token)
    if (turn === 0) throw new Error('the connection broke')
  })
  const secret = await make(stored)
  assert.ok(secret)
  assert.equal(stored.rows[0]?.digest, digestSecret(secret))
})

it('is shown although the store had done nothing when the connection broke', async () => {
  const stored = tokenStore((rows, token, turn) => {
    if (turn === 0) throw new Error('the connection broke')
    add(rows, token)
  })
  assert.ok(await make(stored))
})

it('is not shown if another process was quicker: its token is used', async () => {
  const stored = tokenStore(add)
  stored.rows.push({ kind: 'client', name: 'default', digest: 'theirs', models: ['*'] })
  assert.equal(await make(stored), null)
})

it('stops the start if the store accepts no token', async () => {
  const stored = tokenStore(() => {
    throw new Error('it is away')
  })
  await assert.rejects(make(stored), /it is away/)
})

it('is deleted with a warning if another token is configured, and without one if its secret is configured too', async () => {
  const generated: Token = { kind: 'client', name: 'default', digest: 'old', models: ['*'] }
  const own: Token = { kind: 'client', name: 'team-a', digest: 'new', models: ['*'] }
  const start = async (stored: readonly Token[], configured: readonly Token[]) => {
    const { rows, store } = tokenStore(add)
    rows.push(...stored)
    const warnings: unknown[] = []
    const warn = (...words: unknown[]) => void warnings.push(words)
    const tokens = await gatherTokens(configured, { store, write: (_, run) => run(), warn })
    assert.deepEqual([tokens, rows], [configured, []])
    return warnings
  }
  const event = "the generated token 'default' is no longer valid, because another is configured"
  assert.deepEqual(await start([generated], [own]), [[event, { fix: 'to keep it, set FILMGATE_TOKEN to its secret' }]])
  assert.deepEqual(await start([generated], [own, { ...generated }]), [])
  assert.deepEqual(await start([], [own]), [])
})
