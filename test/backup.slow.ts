import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { startService } from './service.ts'

const film = { model: 'studio', prompt: 'a lighthouse in a storm', seconds: '1', size: '256x256' }

it('a backup of a running service, as in docs/moving.md, has every finished video, and the others go on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-backup-'))
  const copy = join(folder, 'data')
  const films = new Map<string, Buffer>()
  const unfinished: string[] = []
  {
    await using service = await startService()
    const submit = async () => ((await (await service.submit(film)).json()) as { id: string }).id
    const content = async (id: string) =>
      Buffer.from(await (await service.fetch(`/v1/videos/${id}/content`)).arrayBuffer())
    for (const id of [await submit(), await submit()]) {
      assert.equal((await service.finish(id)).status, 'completed')
      films.set(id, await content(id))
    }
    for (let number = 0; number < 4; number += 1) unfinished.push(await submit())
    mkdirSync(copy)
    {
      using database = new DatabaseSync(join(service.data, 'filmgate.db'))
      database.prepare('VACUUM INTO ?').run(join(copy, 'filmgate.db'))
    }
    // Videos that finish in between are in no row of the backup: their files are merely extra.
    assert.equal((await service.finish(unfinished[0] ?? '')).status, 'completed')
    for (const name of ['bucket', 'accounts', 'secret.key'])
      cpSync(join(service.data, name), join(copy, name), { recursive: true })
  }
  await using restored = await startService({ env: { FILMGATE_DATA: copy } })
  for (const [id, bytes] of films) {
    const answer = await restored.fetch(`/v1/videos/${id}/content`)
    assert.equal(answer.status, 200)
    assert.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())))
  }
  for (const id of unfinished) {
    assert.equal((await restored.finish(id)).status, 'completed')
    assert.equal((await restored.fetch(`/v1/videos/${id}/content`)).status, 200)
  }
  rmSync(folder, { recursive: true })
})
