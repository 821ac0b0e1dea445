import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openaiWire } from '../../simulators/openai.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { startCli } from './cli.fixture.ts'

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-doctor-'))
after(() => rmSync(cwd, { recursive: true }))

async function doctor(config: object, ...flags: string[]) {
  writeFileSync(join(cwd, 'filmgate.yaml'), JSON.stringify(config))
  await using run = startCli(['doctor', ...flags], { cwd })
  return await run.exit
}

it('doctor shows each route, and fails where one can not be used', async () => {
  await using engine = await startUpstream({ wire: openaiWire('vllm-omni') })
  const engines = [{ url: engine.url, name: 'gpu' }]
  const good = await doctor({ engines, models: { pond: { account: 'gpu', model: 'film' } } })
  assert.deepEqual([good.code, good.stderr], [0, ''])
  assert.match(good.stdout, /^pond +gpu +film +usable +the account has this model$/m)
  const config = { engines, models: { pond: { account: 'gpu', model: 'flim' } } }
  const bad = await doctor(config)
  assert.equal(bad.code, 1)
  assert.match(bad.stderr, /^pond on gpu: check the name in models\.pond of filmgate\.yaml; the account lists film$/m)
  const { data, routes } = JSON.parse((await doctor(config, '--json')).stdout)
  assert.deepEqual(
    data.map(({ account, state }: Record<string, string>) => [account, state]),
    [
      ['studio', 'usable'],
      ['gpu', 'usable'],
    ],
  )
  assert.deepEqual(
    routes.map(({ model, upstream_model: called, state }: Record<string, string>) => [model, called, state]),
    [
      ['studio', 'studio', 'usable'],
      ['pond', 'flim', 'unclear'],
    ],
  )
})

it('doctor names a route whose provider does not have the model', async () => {
  const { code, stderr } = await doctor({ models: { pond: { routes: [{ account: 'studio', model: 'stduio' }] } } })
  assert.equal(code, 2)
  assert.match(stderr, /models\.pond\.routes\[0\]\.model: 'studio' has no model 'stduio'; use one of: studio/)
})
