import assert from 'node:assert/strict'
import { afterEach, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MutationObserver } from '@tanstack/react-query'
import type { Model } from '../../src/wire/models.ts'
import { endPerson, queries, Stopped, sessionPath } from './api.ts'
import { creationOptions, leftRefusalsKey, stopCreations, toCreation } from './creating.ts'
import { emptyDraft } from './playground.ts'

/* A service that can't create anything at first, and what happens until it can. */

const model = { id: 'studio' } as Model
const error = { message: 'The disk is full.', type: 'server_error', param: null, code: null }

/** Sends a creation. `responses` are those to its requests, in order; the last one is repeated. */
function begin(t: TestContext, responses: readonly (() => Response)[], onSession = () => {}) {
  const sent: string[] = []
  t.mock.method(globalThis, 'fetch', async (path: string, { headers }: { headers: Record<string, string> }) => {
    if (path === sessionPath) {
      sent.push('session')
      onSession()
      return Response.json({ object: 'console', session: {} })
    }
    sent.push(String(headers['idempotency-key']))
    return (responses[sent.filter((one) => one !== 'session').length - 1] ?? responses.at(-1))?.()
  })
  const page = { isLeft: false }
  const wanted = [{ model, key: 'key', id: null }]
  const creation = toCreation({ draft: { ...emptyDraft, prompt: 'a fox' }, wanted, page })
  const kept: string[] = []
  const observer = new MutationObserver(
    queries,
    creationOptions(({ id }) => kept.push(id)),
  )
  const result = observer.mutate(creation).catch((thrown: unknown) => thrown)
  return { sent, page, kept, result }
}

const unavailable = () => Response.json({ error }, { status: 503 })
const created = () => Response.json({ id: 'video_1' })
const refused = () => Response.json({ error }, { status: 400 })

/** Until the creation waits for its next try. */
async function waits(sent: readonly string[]): Promise<void> {
  while (sent.length === 0) await setImmediate()
  for (let at = 0; at < 20; at += 1) await setImmediate()
}

afterEach(() => queries.clear())

it('a request is repeated with its key, after the session was read', async (t) => {
  const { sent, kept, result } = begin(t, [unavailable, created])
  assert.deepEqual(await result, [{ model: 'studio', id: 'video_1', error: null }])
  assert.deepEqual(sent, ['key', 'session', 'key'])
  assert.deepEqual(kept, ['video_1'])
})

it('nothing is sent any more once its person has left, also while it waits', async (t) => {
  const { sent, kept, result } = begin(t, [unavailable, created])
  await waits(sent)
  endPerson()
  assert.ok((await result) instanceof Stopped)
  assert.deepEqual(sent, ['key'])
  assert.deepEqual(kept, [])
})

it('nothing is sent for a person who signed in in another tab', async (t) => {
  const { sent, result } = begin(t, [unavailable, created], endPerson)
  assert.ok((await result) instanceof Stopped)
  assert.deepEqual(sent, ['key', 'session'])
})

it('a response that arrives for the next person is not kept', async (t) => {
  const { kept, result } = begin(t, [
    () => {
      endPerson()
      return created()
    },
  ])
  assert.ok((await result) instanceof Stopped)
  assert.deepEqual(kept, [])
})

it('somebody can stop it', async (t) => {
  const { sent, result } = begin(t, [unavailable, created])
  await waits(sent)
  await stopCreations()
  assert.ok((await result) instanceof Stopped)
  assert.deepEqual(sent, ['key'])
})

it('a refusal is reported if its page was left, and only then', async (t) => {
  await begin(t, [refused]).result
  assert.equal(queries.getQueryData(leftRefusalsKey), undefined)
  const { sent, page, result } = begin(t, [unavailable, refused])
  await waits(sent)
  page.isLeft = true
  await result
  assert.deepEqual(queries.getQueryData(leftRefusalsKey), [
    { model: 'studio', prompt: 'a fox', error: 'The disk is full.' },
  ])
})
