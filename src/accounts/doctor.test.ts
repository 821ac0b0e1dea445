import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { simulators } from '../../simulators/index.ts'
import { openaiWire } from '../../simulators/openai.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { load } from '../config/load.fixture.ts'
import { examine } from './doctor.ts'

const never = new AbortController().signal
const diagnoseAll = (accounts: object, models = {}) => {
  const config = load(JSON.stringify({ accounts: { studio: { enabled: false }, ...accounts }, models }))
  return examine(config, { now: () => Date.now(), signal: never })
}
const diagnose = async (accounts: object) => (await diagnoseAll(accounts)).accounts

it('shows how an account responds and what to do about it', async () => {
  let status = 200
  const server = createServer((_request, response) => response.writeHead(status).end('{"data":[]}'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const expected: [number, string, RegExp][] = [
    [200, 'usable', /accepts our key/],
    [401, 'unusable', /refuses our key \(401\)/],
    [403, 'unusable', /refuses our key/],
    [402, 'unusable', /payment/],
    [404, 'unusable', /its API was not found/],
    [429, 'usable', /slow down/],
    [503, 'unclear', /503/],
  ]
  for (const [answer, state, seen] of expected) {
    status = answer
    const [finding] = await diagnose({ main: { provider: 'openai', base_url, key: 'secret-key' } })
    assert.equal(finding?.state, state)
    assert.match(finding?.seen ?? '', seen)
    assert.equal(finding?.fix === null, answer === 200)
    assert.doesNotMatch(JSON.stringify(finding), /secret-key/)
  }
  server.close()
  const [gone] = await diagnose({ main: { provider: 'openai', base_url } })
  const { host } = new URL(base_url)
  assert.deepEqual([gone?.state, gone?.seen], ['unclear', `no usable response (connect ECONNREFUSED ${host})`])
})

for (const [name, { open, provider, path }] of Object.entries(simulators))
  it(`finds that the simulated ${name} can be used`, async () => {
    const { wire, key } = open()
    await using upstream = await startUpstream({ wire })
    const [finding] = await diagnose({ main: { provider, base_url: upstream.url + path, key } })
    assert.deepEqual([finding?.state, finding?.seen], ['usable', 'it accepts our key'])
    assert.equal(upstream.ledger().accepts.length, 0)
  })

it('says what to do about a vLLM-Omni that was started with the wrong options, although it lists its models', async () => {
  await using upstream = await startUpstream({ wire: openaiWire('vllm-omni', 'several-api-servers') })
  const [finding] = await diagnose({ main: { provider: 'openai', base_url: `${upstream.url}/v1` } })
  assert.deepEqual([finding?.state, finding?.seen], ['unusable', 'it generates no videos'])
  assert.match(finding?.fix ?? '', /--api-server-count 1/)
})

it('says that a key is not that of a service account, and reports no response that Vertex AI did not send', async () => {
  const key = JSON.stringify({ type: 'authorized_user', client_id: 'a-secret-id' })
  const [finding] = await diagnose({ main: { provider: 'vertex', base_url: 'http://127.0.0.1:1', key } })
  assert.deepEqual([finding?.state, finding?.seen], ['unusable', 'it generates no videos'])
  assert.match(finding?.fix ?? '', /^the key is not the JSON of a service account; use the key file of/)
  assert.doesNotMatch(JSON.stringify(finding), /401|a-secret-id/)
})

it('says of each route whether its account has the model', async () => {
  await using engine = await startUpstream({ wire: openaiWire('vllm-omni') })
  await using kling = await startUpstream({ wire: simulators.kling.open().wire })
  const accounts = {
    gpu: { provider: 'openai', base_url: `${engine.url}/v1` },
    k: { provider: 'kling', base_url: kling.url, key: 'a-key' },
    down: { provider: 'kling', base_url: 'http://127.0.0.1:1', key: 'a-key' },
  }
  const narrow = { seconds: { values: [5] }, size: { values: ['1280x720'] } }
  const { routes } = await diagnoseAll(accounts, {
    good: { account: 'gpu', model: 'film' },
    typo: { account: 'gpu', model: 'flim' },
    'kling-3.0': { ...narrow, routes: [{ account: 'k' }, { account: 'down', priority: 1 }] },
  })
  const of = (model: string) => routes.filter((route) => route.model === model)
  assert.deepEqual(of('good'), [
    {
      model: 'good',
      account: 'gpu',
      upstream_model: 'film',
      state: 'usable',
      seen: 'the account has this model',
      fix: null,
    },
  ])
  const [typo] = of('typo')
  assert.deepEqual([typo?.state, typo?.seen], ['unclear', "the account does not list 'flim'"])
  assert.match(typo?.fix ?? '', /models\.typo.*the account lists film$/)
  assert.deepEqual(
    of('kling-3.0').map(({ account, state }) => [account, state]),
    [
      ['k', 'usable'],
      ['down', 'unclear'],
    ],
  )
  assert.equal(engine.ledger().accepts.length + kling.ledger().accepts.length, 0)
})
