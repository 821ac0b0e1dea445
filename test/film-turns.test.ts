import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startService, until } from './service.ts'

/* One token has long films drawn in all slots. Short films of another token do not wait for them. */

const other = { authorization: 'Bearer the key of the other token' }
const long = { model: 'studio', prompt: 'a heron', seconds: '20', size: '1920x1920' }
const short = { ...long, seconds: '1', size: '256x256' }

it('a short film of a token is completed while long films of another token hold all slots', async () => {
  const tokens = [{ name: 'other', secret: 'the key of the other token' }]
  const yaml = JSON.stringify({ tokens, accounts: { studio: { concurrency: 1 } } })
  await using service = await startService({ yaml })
  const submit = async (order: object, headers = {}) =>
    ((await (await service.submit(order, headers)).json()) as { id: string }).id
  const statusOf = async (id: string, headers = {}) =>
    ((await (await service.fetch(`/v1/videos/${id}`, { headers })).json()) as { status: string }).status
  const first = await submit(long)
  const second = await submit({ ...long, prompt: 'two herons' })
  await until('the first long film is drawn', async () => (await statusOf(first)) === 'in_progress')
  const wanted = await submit(short, other)
  await until('the short film is completed', async () => (await statusOf(wanted, other)) === 'completed')
  // Its slot does not go to a film of the first token.
  assert.deepEqual([await statusOf(first), await statusOf(second)], ['in_progress', 'queued'])
})
