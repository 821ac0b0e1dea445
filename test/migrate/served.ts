import assert from 'node:assert/strict'
import { toWireOutput } from '../../src/api/wire.ts'
import type { TestService } from '../service.ts'
import { type Source, sha256 } from './source.ts'

/** A service on the target has everything that the source had, and goes on with it. */
export async function assertServed(source: Source, service: TestService, { finish = true } = {}): Promise<void> {
  type Page = { data: { id: string }[]; has_more: boolean }
  const seen: string[] = []
  for (let more = true; more; ) {
    const after = seen.length > 0 ? `&after=${seen.at(-1)}` : ''
    const page = (await (await service.fetch(`/v1/videos?limit=100&order=asc${after}`)).json()) as Page
    seen.push(...page.data.map(({ id }) => id))
    more = page.has_more
  }
  assert.deepEqual(
    seen,
    source.visible.map(({ id }) => id),
  )
  for (const { id, prompt, state, videoFacts, warnings } of source.visible) {
    const task = (await (await service.fetch(`/v1/videos/${id}`)).json()) as Record<string, unknown>
    assert.equal(task.prompt, prompt)
    if (state === 'completed') {
      assert.deepEqual(task.output, videoFacts ? toWireOutput(videoFacts) : undefined)
      assert.deepEqual(task.warnings ?? [], warnings)
    }
    if (state === 'completed' || state === 'failed') assert.equal(task.status, state)
    const film = source.films.get(id)
    if (!film) continue
    const content = await service.fetch(`/v1/videos/${id}/content`)
    assert.equal(content.status, 200)
    assert.equal(sha256(Buffer.from(await content.arrayBuffer())), sha256(film))
  }
  if (finish) for (const id of source.drawable) assert.equal((await service.finish(id)).status, 'completed')
}
