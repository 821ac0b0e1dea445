import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { openDigests } from './digests.ts'

it("a token's chunk waits for two chunks of another token at most, however many of those wait", async () => {
  await using digests = openDigests()
  const chunk = Buffer.alloc(256 * 1024, 'film')
  const ended: string[] = []
  const digest = async (owner: string) => {
    const one = digests.begin(owner)
    await one.update(chunk)
    ended.push(owner)
    return one.result()
  }
  const results = await Promise.all([...Array.from({ length: 64 }, () => digest('alice')), digest('bob')])
  const place = ended.indexOf('bob')
  assert.ok(place <= 2, `${place} chunks of alice came first`)
  assert.deepEqual([...new Set(results)], [createHash('sha256').update(chunk).digest('hex')])
})
