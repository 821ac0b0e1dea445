import assert from 'node:assert/strict'
import { it } from 'node:test'
import { jumpingClock, operatorToken, startService, type TestService } from './service.ts'

/* Quotes: what a request would create and cost. */

const film = { model: 'studio', prompt: 'a red fox' }
const yaml = `
prices:
  models: { studio: { price: [{ unit: second, price: "0.05" }, { unit: input_image, price: "0.01" }] } }
  projects: { team: { models: { studio: { price: [{ unit: video, price: "0.07" }] } } } }
tokens: [{ name: team, secret: team }]`
const env = { FILMGATE_OPERATOR_TOKEN: operatorToken }

function post(service: TestService, path: string, body: object, headers = {}): Promise<Response> {
  const type = { 'content-type': 'application/json' }
  return service.fetch(path, { method: 'POST', body: JSON.stringify(body), headers: { ...type, ...headers } })
}

async function quoteOf(response: Response): Promise<Record<string, unknown>> {
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Record<string, unknown>
}

async function countOf(service: TestService): Promise<number> {
  const { data } = (await (await service.fetch('/v1/videos')).json()) as { data: unknown[] }
  return data.length
}

it('a quote has the price and the request with its defaults, at both paths, and creates nothing', async () => {
  await using service = await startService({ yaml })
  const expected = {
    object: 'video.quote',
    model: 'studio',
    seconds: '4',
    size: '1280x720',
    prompt: 'a red fox',
    parameters: {},
    price: { cost: 0.2, currency: 'USD' },
    eta: null,
    queue_position: 1,
    spend: [],
  }
  for (const path of ['/v1/videos/quote', '/v1/videos?dry_run=true', '/v1/video/generations?dry_run=true'])
    assert.deepEqual(await quoteOf(await post(service, path, film)), expected, path)
  const own = await quoteOf(await post(service, '/v1/videos/quote', film, { authorization: 'Bearer team' }))
  assert.deepEqual(own.price, { cost: 0.07, currency: 'USD' })
  assert.equal(await countOf(service), 0)
  const made = await post(service, '/v1/videos?dry_run=false', film)
  assert.equal(((await made.json()) as { object: string }).object, 'video')
  assert.equal(await countOf(service), 1)
})

it('what is quoted is what is charged', async () => {
  await using service = await startService({ yaml })
  const request = { ...film, seconds: '2', size: '256x256', seed: 7 }
  const { price, parameters } = await quoteOf(await post(service, '/v1/videos/quote', request))
  assert.deepEqual([price, parameters], [{ cost: 0.1, currency: 'USD' }, { seed: 7 }])
  const { id } = (await (await service.submit(request)).json()) as { id: string }
  assert.deepEqual((await service.finish(id)).usage, price)
})

it('a quote fetches no URL and resolves no name', async () => {
  await using service = await startService({ yaml })
  // A submit refuses it: the address is private.
  const request = { ...film, image: 'http://10.0.0.1/fox.png' }
  assert.equal((await service.submit(request)).status, 400)
  const { price } = await quoteOf(await post(service, '/v1/videos/quote', request))
  assert.deepEqual(price, { cost: 0.21, currency: 'USD' })
})

it('a request that would be refused gets the same error', async () => {
  await using service = await startService({
    yaml: 'prices: {}\nmodels: { still: { account: studio, image: required } }',
  })
  const refused = async (body: object) => {
    const [quote, submit] = [await post(service, '/v1/videos/quote', body), await service.submit(body)]
    assert.equal(quote.status, submit.status)
    const { error } = (await quote.json()) as { error: { code: string } }
    assert.deepEqual(error, ((await submit.json()) as { error: object }).error)
    return error.code
  }
  assert.equal(await refused({ ...film, seconds: '999' }), 'invalid_value')
  assert.equal(await refused({ ...film, model: 'none' }), 'model_not_found')
  assert.equal(await refused({ ...film, model: 'still' }), 'missing_required_parameter')
  assert.equal(await refused({ ...film, nonsense: 1 }), 'unknown_parameter')
  assert.equal((await post(service, '/v1/videos?dry_run=maybe', film)).status, 400)
  for (const misspelt of ['dryrun', 'Dry_run', 'dry-run', 'dry_run[]']) {
    const refused = await post(service, `/v1/videos?${misspelt}=true`, film)
    assert.equal(refused.status, 400, misspelt)
    assert.match(((await refused.json()) as { error: { message: string } }).error.message, /Did you mean 'dry_run'/)
  }
  // A client that expects a quote must not get a video that it pays for.
  const remix = await post(service, `/v1/videos/video_${'0'.repeat(48)}/remix?dry_run=true`, { prompt: 'x' })
  assert.deepEqual([remix.status, ((await remix.json()) as { error: { param: string } }).error.param], [400, 'dry_run'])
})

it('quotes have a rate of their own, and videos another', async () => {
  const now = Date.now()
  // The clock stands still, so that nothing is refilled.
  const clock = { ...jumpingClock(), now: () => now }
  await using service = await startService({ yaml, env: { FILMGATE_RATE: '1' }, world: { clock } })
  const quotes = Array.from({ length: 121 }, () => post(service, '/v1/videos?dry_run=true', film))
  const statuses = (await Promise.all(quotes)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 429).length, 1)
  assert.equal((await service.submit(film)).status, 200)
})

it('the operator also sees the cost and the accounts', async () => {
  await using service = await startService({ yaml, env })
  const headers = { authorization: `Bearer ${operatorToken}` }
  const quote = await quoteOf(await post(service, '/operator/v1/quote?project=team', film, headers))
  assert.deepEqual(
    [quote.price, quote.cost, quote.routes],
    [
      { cost: 0.07, currency: 'USD' },
      { cost: 0, currency: 'USD' },
      [{ account: 'studio', upstream_model: 'studio', paused: false }],
    ],
  )
  assert.equal((await post(service, '/operator/v1/quote', film)).status, 403)
  const misspelt = await post(service, '/operator/v1/quote?projekt=team', film, headers)
  const { error } = (await misspelt.json()) as { error: { param: string; message: string } }
  assert.deepEqual([misspelt.status, error.param], [400, 'projekt'], error.message)
})

it('says what is spent of the caps of the token, so that a client knows what fits', async () => {
  const caps = 'tokens: [{ name: team, secret: team, spend: { month: { limit: "0.50" }, total: { limit: "9" } } }]'
  await using service = await startService({ yaml: yaml.replace(/tokens: .*/, caps) })
  const headers = { authorization: 'Bearer team' }
  await post(service, '/v1/videos', film, headers)
  const { price, spend } = await quoteOf(await post(service, '/v1/videos/quote', film, headers))
  assert.deepEqual(price, { cost: 0.07, currency: 'USD' })
  const [month, total] = spend as { period: string; resets_at: string | null }[]
  assert.ok(Date.parse(month?.resets_at ?? '') > Date.now())
  assert.deepEqual({ ...month, resets_at: null }, spentOf('month', '0.5'))
  assert.deepEqual(total, spentOf('total', '9'))
})

const spentOf = (period: string, limit: string) => ({
  ...{ period, amount: '0.07', limit, currency: 'USD', resets_at: null },
})

it('the operator learns why a model has no price, where a client is refused', async () => {
  const priced = 'models: { studio: { price: [{ unit: second, price: "0.05" }] } }'
  for (const [config, reason] of [
    ['prices: { currency: EUR, models: { studio: { price: [{ unit: input_image, price: "1" }] } } }', /studio/],
    [`prices: { currency: EUR, ${priced} }`, null],
  ] as const) {
    await using service = await startService({ yaml: config, env })
    const headers = { authorization: `Bearer ${operatorToken}` }
    const quote = await quoteOf(await post(service, '/operator/v1/quote', film, headers))
    if (reason) {
      assert.match(String(quote.unpriced), reason)
      assert.equal(quote.price, null)
      assert.equal((await post(service, '/v1/videos/quote', film)).status, 400)
    } else assert.deepEqual([quote.unpriced, quote.price], [null, { cost: 0.2, currency: 'EUR' }])
  }
})

it('the list of models has the price for the token, and what the provider charges only for operators', async () => {
  const reseller = `
prices: { models: { studio: { cost: [{ unit: second, price: "0.03" }] } }, projects: { team: { markup: "3" } } }
tokens: [{ name: team, secret: team }]`
  await using service = await startService({ yaml: reseller, env })
  const headers = { authorization: 'Bearer team' }
  const { price, facts } = await modelOf(service, '/v1/models/studio', headers)
  assert.deepEqual([price, facts?.price], [{ currency: 'USD', lines: [{ unit: 'second', price: '0.09' }] }, null])
  const { data } = (await (await service.fetch('/v1/models', { headers })).json()) as { data: ListedModel[] }
  assert.deepEqual(data[0], await modelOf(service, '/v1/models/studio', headers))
  const response = await service.fetch('/operator/v1/models', { headers: { authorization: `Bearer ${operatorToken}` } })
  const [seen] = ((await response.json()) as { data: { accepts: ListedModel }[] }).data
  assert.deepEqual(seen?.accepts.price, { currency: 'USD', lines: [{ unit: 'second', price: '0.03' }] })
  assert.deepEqual(seen?.accepts.facts?.price?.lines, [{ unit: 'video', price: '0' }])
  for (const path of ['/docs/models', '/docs/models/studio']) {
    const page = await (await service.fetch(path)).text()
    assert.match(page, /by token/i, path)
    assert.doesNotMatch(page, /\d USD/, path)
  }
})

it('without prices, the list of models has what the provider charges, and a price for tokens with a cap', async () => {
  const capped = 'tokens: [{ name: team, secret: team, spend: { total: { limit: "9" } } }]'
  await using service = await startService({ yaml: capped })
  const free = [{ unit: 'video', price: '0' }]
  const own = await modelOf(service, '/v1/models/studio', {})
  assert.deepEqual([own.price, own.facts?.price?.lines], [null, free])
  const { price } = await modelOf(service, '/v1/models/studio', { authorization: 'Bearer team' })
  assert.deepEqual(price, { currency: 'USD', lines: free })
  assert.match(await (await service.fetch('/docs/models/studio')).text(), /0 USD per video, as of/)
})

it('a model with a price of its own hides what its provider charges, without any other price', async () => {
  const own = `
models: { studio: { price: [{ unit: second, price: "0.3" }] } }
tokens: [{ name: team, secret: team, spend: { total: { limit: "9" } } }]`
  await using service = await startService({ yaml: own })
  const { price, facts } = await modelOf(service, '/v1/models/studio', { authorization: 'Bearer team' })
  assert.deepEqual([price, facts?.price], [{ currency: 'USD', lines: [{ unit: 'second', price: '0.3' }] }, null])
  assert.match(await (await service.fetch('/docs/models/studio')).text(), /by token/i)
})

interface ListedModel {
  price: object | null
  facts?: { price: { lines: object[] } | null }
}

async function modelOf(service: TestService, path: string, headers: Record<string, string>): Promise<ListedModel> {
  return (await (await service.fetch(path, { headers })).json()) as ListedModel
}
