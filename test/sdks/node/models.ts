import assert from 'node:assert/strict'
import { NotFoundError } from 'openai-7.53'
import { check, openai, refused } from './program.ts'

export async function checkModels(): Promise<void> {
  await check('models.list', async () => {
    const models = []
    for await (const model of openai.models.list()) models.push(model)
    assert.deepEqual(
      models.map(({ id, object }) => [id, object]),
      ['studio', 'sora-2', 'acme/video'].map((id) => [id, 'model']),
    )
    for (const { created, owned_by } of models) {
      assert.ok(Number.isInteger(created))
      assert.equal(owned_by, 'studio')
    }
  })
  const rows = { 'models.retrieve': 'studio', 'models.retrieve, a slash in the id': 'acme/video' }
  for (const [row, id] of Object.entries(rows)) {
    await check(row, async () => {
      const model = await openai.models.retrieve(id)
      assert.deepEqual([model.id, model.object, model.owned_by], [id, 'model', 'studio'])
      assert.ok(Number.isInteger(model.created))
    })
  }
  await check('models.retrieve, unknown', () =>
    refused(() => openai.models.retrieve('nothing'), {
      kind: NotFoundError,
      status: 404,
      code: 'model_not_found',
      param: 'model',
    }),
  )
}
