import assert from 'node:assert/strict'
import { it } from 'node:test'
import OpenAI, { RateLimitError } from 'openai-7.53'
import { jumpingClock, operatorToken, startService, type TestService } from './service.ts'

/* What videos cost, and caps on it, as a client and an operator see them. */

const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' } as const
const env = { FILMGATE_OPERATOR_TOKEN: operatorToken }
const half = '{ unit: second, price: "0.50" }'
const prices = `prices: { models: { studio: { price: [${half}], cost: [{ unit: second, price: "0.20" }] } } }`
const capped = (spend: string) => `${prices}\ntokens: [{ name: team, secret: team, spend: ${spend} }]`

const as = (secret: string) => ({ authorization: `Bearer ${secret}` })

interface Refused {
  error: { code: string; type: string; message: string; param: string | null }
}

interface Shown {
  entries: { step: string; account: string; amount: number; currency: string }[]
}

async function created(service: TestService, headers = {}): Promise<string> {
  const response = await service.submit(film, headers)
  assert.equal(response.status, 200, await response.clone().text())
  return ((await response.json()) as { id: string }).id
}

it('a finished video shows what it cost, and the operator sees every entry', async () => {
  await using service = await startService({ yaml: prices, env })
  const id = await created(service)
  const queued = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { usage?: unknown }
  assert.ok(!('usage' in queued), 'nothing is charged before the end')
  const done = await service.finish(id)
  assert.deepEqual(done.usage, { cost: 0.5, currency: 'USD' })
  const { entries } = await service.operator<Shown>(`/tasks/${id}`)
  const sums: Record<string, number> = {}
  for (const { account, amount } of entries) sums[account] = (sums[account] ?? 0) + amount
  assert.deepEqual(sums, {
    'funds default': -0.5,
    'reserved default': 0,
    'revenue default': 0.5,
    'cost studio': 0.2,
    'providers studio': -0.2,
  })
})

it('without prices nothing is charged, shown or posted', async () => {
  await using service = await startService({ env })
  const id = await created(service)
  assert.ok(!('usage' in (await service.finish(id))))
  assert.deepEqual((await service.operator<Shown>(`/tasks/${id}`)).entries, [])
})

it('a cap refuses the video that is too much, says which cap and when it resets, and passes with time', async () => {
  const clock = jumpingClock()
  await using service = await startService({ yaml: capped('{ day: { limit: "1.00" } }'), world: { clock } })
  for (let count = 0; count < 2; count += 1) await created(service, as('team'))
  const refused = await service.submit(film, as('team'))
  assert.equal(refused.status, 429)
  assert.deepEqual(
    ['x-should-retry', 'retry-after'].map((name) => refused.headers.get(name)),
    ['false', null],
  )
  const { error } = (await refused.json()) as Refused
  assert.deepEqual([error.code, error.type], ['insufficient_quota', 'insufficient_quota'])
  assert.match(error.message, /cap of 1 USD a day .* 1 USD is spent or reserved, .* up to 0\.5 USD\. .* resets at 20/)
  const list = (await (await service.fetch('/v1/videos', { headers: as('team') })).json()) as { data: unknown[] }
  assert.equal(list.data.length, 2, 'a refused video is not stored')
  await created(service)
  clock.jump(24 * 3_600_000)
  await created(service, as('team'))
})

type Created = Refused & { id: string; secret: string; spend: unknown }

async function post(service: TestService, path: string, body: object): Promise<Created> {
  const headers = { ...as(operatorToken), 'content-type': 'application/json' }
  const answer = await service.fetch(`/operator/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await answer.json()) as Created
}

it('the cap of a token that is created, raised and lifted while the service runs', async () => {
  await using service = await startService({ yaml: prices, env })
  const token = await post(service, '/tokens', { name: 'anna', spend: { total: { limit: '0.50' } } })
  assert.deepEqual(token.spend, { total: { limit: '0.5', time_zone: 'UTC' } })
  await created(service, as(token.secret))
  assert.equal((await service.submit(film, as(token.secret))).status, 429)
  const raised = await post(service, `/tokens/${token.id}`, {
    spend: { day: { limit: '1', time_zone: 'Asia/Tokyo' }, total: null },
  })
  assert.deepEqual(raised.spend, { day: { limit: '1', time_zone: 'Asia/Tokyo' } })
  await created(service, as(token.secret))
  assert.equal((await service.submit(film, as(token.secret))).status, 429)
  const both = await post(service, `/tokens/${token.id}`, { spend: { month: { limit: '7' } } })
  assert.deepEqual(both.spend, { ...(raised.spend as object), month: { limit: '7', time_zone: 'UTC' } })
  const kept = await post(service, `/tokens/${token.id}`, { spend: { day: { limit: '2' }, month: null } })
  assert.deepEqual(kept.spend, { day: { limit: '2', time_zone: 'Asia/Tokyo' } })
  assert.equal((await post(service, `/tokens/${token.id}`, { spend: null })).spend, null)
  await created(service, as(token.secret))
  for (const [spend, message] of [
    [{ day: { limit: 5 } }, /Expected a string/],
    [{ day: { limit: '-5' } }, /`spend.day.limit` is '-5'\./],
    [
      { day: { limit: '1', time_zone: 'Mars/Base' } },
      /`spend.day.time_zone` is 'Mars\/Base'\. There is no such time zone/,
    ],
    [{ week: { limit: '5' } }, /Unknown parameter: 'spend.week'/],
  ] as const)
    assert.match((await post(service, '/tokens', { name: 'x', spend })).error.message, message)
})

it('without prices of the operator, a token with a cap pays those of the cards, and one without a price is refused', async () => {
  await using service = await startService({ yaml: 'models: { still: { account: studio } }', env })
  const { secret } = await post(service, '/tokens', { name: 'anna', spend: { total: { limit: '5' } } })
  const id = await created(service, as(secret))
  const path = `/v1/videos/${id}?wait=60&until=done`
  const done = (await (await service.fetch(path, { headers: as(secret) })).json()) as { usage: unknown }
  assert.deepEqual(done.usage, { cost: 0, currency: 'USD' })
  const refused = await service.submit({ ...film, model: 'still' }, as(secret))
  assert.equal(((await refused.json()) as Refused).error.code, 'price_unknown')
  assert.equal((await service.submit({ ...film, model: 'still' })).status, 200)
})

it("OpenAI's SDK does not repeat a submit that a cap refused", async () => {
  await using service = await startService({ yaml: capped('{ total: { limit: "0.10" } }') })
  let requests = 0
  const counting: typeof fetch = (...request) => {
    // The SDK also fetches `data:,`, to see what fetch can do.
    if (String(request[0]).startsWith('http')) requests += 1
    return fetch(...request)
  }
  const client = new OpenAI({ apiKey: 'team', baseURL: `${service.url}/v1`, maxRetries: 3, fetch: counting })
  await assert.rejects(client.videos.create({ ...film } as never), (error) => {
    assert.ok(error instanceof RateLimitError && error.code === 'insufficient_quota', String(error))
    return /does not reset/.test(error.message)
  })
  assert.equal(requests, 1)
})

it('of a hundred submits at once, a budget for ten admits exactly ten', async () => {
  await using service = await startService({ yaml: capped('{ month: { limit: "5.00", time_zone: Asia/Tokyo } }') })
  const responses = await Promise.all(Array.from({ length: 100 }, () => service.submit(film, as('team'))))
  const statuses = responses.map(({ status }) => status)
  assert.deepEqual(
    [200, 429].map((status) => statuses.filter((one) => one === status).length),
    [10, 90],
  )
})

it('a deleted video gives its reservation back, and a cap below what is spent refuses the next', async () => {
  await using service = await startService({ yaml: capped('{ total: { limit: "20.00" } }') })
  // Long enough that none is finished before the end of the test.
  const long = { ...film, seconds: '20', size: '1920x1080' }
  const submit = () => service.submit(long, as('team'))
  const first = (await (await submit()).json()) as { id: string }
  assert.deepEqual([(await submit()).status, (await submit()).status], [200, 429])
  const deletion = await service.fetch(`/v1/videos/${first.id}`, { method: 'DELETE', headers: as('team') })
  assert.equal(deletion.status, 200)
  assert.deepEqual([(await submit()).status, (await submit()).status], [200, 429])
  await service.restart(capped('{ total: { limit: "0.20" } }'))
  const { error } = (await (await service.submit(film, as('team'))).json()) as Refused
  assert.match(error.message, /cap of 0\.2 USD in total/)
})

it('a start with another currency than that of the ledger is refused', async () => {
  await using service = await startService({ yaml: prices })
  assert.equal((await service.submit(film)).status, 200)
  await assert.rejects(service.restart('prices: { currency: EUR, unpriced: free }'), /former_currencies: \[USD\]/)
  await service.restart('prices: { currency: EUR, unpriced: free, former_currencies: [USD] }')
})

it('a model without a price is refused with its name, or free if the operator says so', async () => {
  const models = 'models: { still: { account: studio } }'
  await using service = await startService({ yaml: `${prices}\n${models}` })
  const refused = await service.submit({ ...film, model: 'still' })
  assert.equal(refused.status, 400)
  const { error } = (await refused.json()) as Refused
  assert.deepEqual([error.code, error.param], ['price_unknown', 'model'])
  assert.match(error.message, /'still' has no price\. Ask your operator to set a price for 'still' in `prices`/)
  await service.restart(`prices: { unpriced: free }\n${models}`)
  assert.equal((await service.submit({ ...film, model: 'still' })).status, 200)
})
