import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { load } from '../config/load.fixture.ts'
import { startCli } from './cli.fixture.ts'

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-prices-'))
after(() => rmSync(cwd, { recursive: true }))

const config = { accounts: { kling: { key: 'k' }, vertex: { enabled: false } } }

async function prices(list: unknown, ...args: string[]) {
  writeFileSync(join(cwd, 'filmgate.yaml'), JSON.stringify(config))
  writeFileSync(join(cwd, 'list.json'), typeof list === 'string' ? list : JSON.stringify(list))
  await using run = startCli(['prices', ...args], { cwd })
  return await run.exit
}

const openRouter = {
  data: [
    {
      id: 'kwaivgi/kling-3.0',
      pricing_skus: {
        duration_seconds_without_audio_720p: '0.09',
        duration_seconds_with_audio_720p: '0.13',
        images: '1',
      },
    },
    { id: 'other/turbo', pricing_skus: { duration_seconds: '0.2' } },
  ],
}

it('prices import prints what the list has as filmgate.yaml, and names what is missing, unclear, changed or old', async () => {
  const { code, stdout, stderr } = await prices(
    openRouter,
    ...['import', 'list.json', '--map', 'other/turbo=kling-3.0-turbo'],
  )
  assert.equal(code, 0, stderr)
  const { prices: read } = load(`accounts: { kling: { key: k } }\n${stdout}`)
  assert.deepEqual(read?.rules, [
    {
      project: null,
      model: 'kling-3.0',
      cost: [
        { unit: 'second', price: '0.09', resolution: '720p', audio: false },
        { unit: 'second', price: '0.13', resolution: '720p', audio: true },
      ],
    },
    { project: null, model: 'kling-3.0-turbo', cost: [{ unit: 'second', price: '0.2' }] },
  ])
  assert.match(stderr, /^Missing in the list: kling-3\.0-omni$/m)
  assert.match(stderr, /^Not understood, for kling-3\.0: images$/m)
  assert.match(stderr, /^Another price than on the card: kling-3\.0$/m)
})

it('prices import says the same as JSON', async () => {
  const { stdout } = await prices(openRouter, 'import', 'list.json', '--json')
  const { publisher, data, missing, unread, changed } = JSON.parse(stdout)
  assert.deepEqual([publisher, data[0].model, data[0].listed_as], ['OpenRouter', 'kling-3.0', 'kwaivgi/kling-3.0'])
  assert.deepEqual([missing, changed], [['kling-3.0-turbo', 'kling-3.0-omni'], ['kling-3.0']])
  assert.deepEqual(unread, [{ model: 'kling-3.0', prices: ['images'] }])
})

it('prices import fails clearly', async () => {
  const failing = async (list: unknown, ...args: string[]) => {
    const { code, stderr } = await prices(list, ...args)
    return `${code} ${stderr.split('\n', 1)[0]}`
  }
  assert.match(await failing({ data: [] }, 'import', 'list.json'), /^1 OpenRouter's list has none of your models/)
  assert.match(await failing({}, 'import', 'list.json'), /^1 filmgate: list\.json is neither LiteLLM's list/)
  assert.match(await failing('{', 'import', 'list.json'), /^1 filmgate: list\.json can't be read/)
  assert.match(await failing({}, 'import', 'none.json'), /^1 filmgate: none\.json can't be read: ENOENT/)
  assert.match(await failing({}, 'import'), /^2 filmgate: FILE is missing/)
  assert.match(await failing({}, 'export'), /^2 filmgate: there is no 'prices export'; did you mean import\?/)
  assert.match(
    await failing({}, 'import', 'list.json', '--map', 'a=kling-3'),
    /^2 .*no model 'kling-3'; did you mean kling-3\.0\?/,
  )
  assert.match(await failing({}, 'import', 'list.json', '--map', 'a'), /^2 .*LISTED=MODEL/)
})
