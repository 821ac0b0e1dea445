import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CardFacts, type CardTemplate, sizesOf, toCard } from './catalog.ts'
import {
  type PricedRequest,
  type PriceLine,
  type PriceRule,
  type PriceSettings,
  priceOfModel,
  priceRequest,
  pricesFor,
} from './prices.ts'
import { Problem } from './problem.ts'

const template: CardTemplate = {
  id: 'acme-1',
  provider: 'acme',
  upstreamModel: 'one',
  description: 'Acme',
  created: 1,
  seconds: { min: 1, max: 60, default: 5 },
  size: sizesOf(
    {
      '1280x720': { resolution: '720P', ratio: '16:9' },
      '1920x1080': { resolution: '1080p', ratio: '16:9' },
    },
    '1280x720',
  ),
  image: 'optional',
  parameters: {},
  pollAfterMs: 1,
  failuresBilled: true,
}
const common = { imageIs: null, keptMs: null, usuallyMs: null } as const

interface Given extends Partial<Omit<PricedRequest, 'card'>> {
  lines?: readonly PriceLine[] | null
  audio?: CardFacts['audio']
  currency?: string
  rules?: readonly PriceRule[]
  ownPrice?: readonly PriceLine[]
  settings?: Partial<PriceSettings>
}

function price(given: Given) {
  const { lines = null, audio = 'optional', currency = 'USD', rules = [], settings = {}, ownPrice, ...rest } = given
  const table = lines && { currency, on: '2026-11', source: 'a list', lines }
  const facts = { ...common, audio, price: table }
  const card = { ...toCard(template, ['main']), facts, ...(ownPrice && { ownPrice }) }
  const request = {
    card,
    owner: 'alice',
    seconds: 5,
    size: { width: 1280, height: 720 },
    parameters: {},
    hasImage: false,
    sourceSeconds: 0,
    ...rest,
  }
  return priceRequest({ currency: 'USD', unpriced: 'refuse', region: null, rules, ...settings }, request)
}

const second = (text: string, more: Partial<PriceLine> = {}): PriceLine => ({ unit: 'second', price: text, ...more })
const refusal = (given: Given): string => {
  try {
    price(given)
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === 'price_unknown', String(error))
    return error.message
  }
  return assert.fail('it has a price')
}

it('without settings a video is free', () => {
  const card = toCard(template, ['main'])
  const size = { width: 1280, height: 720 }
  const request = { card, owner: '', seconds: 5, size, parameters: {}, hasImage: false, sourceSeconds: 0 }
  assert.equal(priceRequest(null, request), null)
})

it('the price that was declared with a model wins over rules for all models, and not over those that name it', () => {
  const ownPrice = [second('0.3')]
  const all: PriceRule = { project: null, model: '*', markup: '2' }
  assert.equal(price({ lines: [second('0.1')], ownPrice, rules: [all] })?.charge, 1_500_000)
  assert.equal(price({ lines: [second('0.1')], ownPrice })?.cost, 500_000, 'the cost is the provider’s')
  const naming: PriceRule[] = [
    { project: null, model: 'acme-1', price: [second('0.2')] },
    { project: 'alice', model: '*', price: [second('0.2')] },
  ]
  for (const rule of naming) assert.equal(price({ ownPrice, rules: [rule, all] })?.charge, 1_000_000)
})

describe('the price of a table', () => {
  it('is by second, by video, or both', () => {
    assert.equal(price({ lines: [second('0.084')] })?.charge, 420_000)
    assert.equal(price({ lines: [{ unit: 'video', price: '0.2' }], seconds: 10 })?.charge, 200_000)
    assert.equal(price({ lines: [second('0.1'), { unit: 'video', price: '0.05' }] })?.charge, 550_000)
  })

  it('is that of the line with the most conditions that the request meets', () => {
    const lines = [
      second('0.1'),
      second('0.2', { resolution: '1080p' }),
      second('0.3', { resolution: '1080p', audio: true }),
    ]
    assert.equal(price({ lines })?.charge, 500_000)
    const large = { lines, size: { width: 1920, height: 1080 } }
    assert.equal(price({ ...large, parameters: { audio: false } })?.charge, 1_000_000)
    assert.equal(price({ ...large, parameters: { audio: true } })?.charge, 1_500_000)
    assert.equal(price({ ...large, audio: 'never' })?.charge, 1_000_000)
    assert.equal(price({ lines: [second('0.1', { resolution: '720p' })] })?.charge, 500_000, 'whatever its letters')
    const modes = [second('0.1', { mode: 'std' }), second('0.4', { mode: 'pro' })]
    assert.equal(price({ lines: modes, parameters: { mode: 'std' } })?.charge, 500_000)
    const regions = [second('0.1', { region: 'us' }), second('0.4', { region: 'eu' })]
    assert.equal(price({ lines: regions, settings: { region: 'eu' } })?.charge, 2_000_000)
  })

  it('is the highest that fits if the request leaves the provider a choice', () => {
    const lines = [second('0.1', { audio: false }), second('0.3', { audio: true }), second('0.2', { audio: true })]
    assert.equal(price({ lines })?.charge, 1_500_000)
    const [silent, general] = [second('0.2', { audio: false }), second('0.4')]
    assert.equal(price({ lines: [general, silent] })?.charge, 2_000_000, 'a cheaper line with more conditions')
    assert.equal(price({ lines: [general, silent], parameters: { audio: false } })?.charge, 1_000_000)
    const modes = [second('0.4'), second('0.1', { mode: 'std' })]
    assert.equal(price({ lines: modes })?.charge, 2_000_000)
    assert.equal(price({ lines: modes, parameters: { mode: 'std' } })?.charge, 500_000)
    assert.equal(price({ lines: modes, parameters: { mode: 'pro' } })?.charge, 2_000_000)
  })

  it('includes images and source videos only if the request has them', () => {
    const lines = [
      second('0.1'),
      { unit: 'input_image', price: '0.01' },
      { unit: 'input_second', price: '0.02' },
    ] as const
    assert.equal(price({ lines })?.charge, 500_000)
    assert.equal(price({ lines, hasImage: true })?.charge, 510_000)
    assert.equal(price({ lines, sourceSeconds: 3 })?.charge, 560_000)
    const conditional = [second('0.1'), { unit: 'input_image', price: '0.01', resolution: '1080p' }] as const
    assert.match(refusal({ lines: conditional, hasImage: true }), /'acme-1' has no price for 720p with an input/)
  })

  it('reserves the most tokens, and keeps the unit price for what the provider reports', () => {
    const lines = [{ unit: 'output_token', price: '0.0000025', tokens_per_second: 20_000 }] as const
    const found = price({ lines })
    assert.equal(found?.charge, 250_000)
    assert.deepEqual(found?.metered?.cost, [{ quantity: 100_000, price: '0.0000025', metered: true }])
    const unbounded = [{ unit: 'output_token', price: '0.0000025' }] as const
    assert.match(refusal({ lines: unbounded }), /`tokens_per_second`/)
  })
})

describe('the price of the operator', () => {
  const lines = [second('0.1')]
  const own = [second('0.5')]

  it("is the provider's cost times the markup, rounded once", () => {
    const found = price({ lines: [second('0.0000003')], rules: [{ project: null, model: '*', markup: '1.5' }] })
    assert.deepEqual([found?.cost, found?.charge], [2, 3])
  })

  it('may be set for a model, with the cost beside it', () => {
    const found = price({ lines, rules: [{ project: null, model: 'acme-*', price: own }] })
    assert.deepEqual([found?.cost, found?.charge], [500_000, 2_500_000])
    assert.equal(price({ lines: null, rules: [{ project: null, model: 'acme-1', price: own }] })?.cost, null)
    assert.equal(price({ lines, rules: [{ project: null, model: '*', cost: own }] })?.charge, 2_500_000)
  })

  it('is by the first rule that fits the project and the model', () => {
    const rules: PriceRule[] = [
      { project: 'bob', model: 'acme-1', markup: '4' },
      { project: 'alice', model: 'other', markup: '3' },
      { project: 'alice', model: '*', markup: '2' },
      { project: null, model: 'acme-1', price: own },
    ]
    assert.equal(price({ lines, rules })?.charge, 1_000_000)
    assert.equal(price({ lines, rules, owner: 'bob' })?.charge, 2_000_000)
    assert.equal(price({ lines, rules, owner: 'carol' })?.charge, 2_500_000)
  })
})

it('a price that is unknown is an error with the name of the model, or free if the operator says so; never 0', () => {
  assert.match(refusal({ lines: null }), /'acme-1' has no price.*`prices`/)
  assert.match(refusal({ lines: [second('0.1', { resolution: '480p' })] }), /'acme-1' has no price for 720p/)
  assert.match(refusal({ lines: [second('0.1', { audio: true })], parameters: { audio: false } }), /720p without sound/)
  assert.match(refusal({ lines: [second('0.1')], currency: 'CNY' }), /'acme-1' is in CNY, and prices here are in USD/)
  assert.match(
    refusal({
      lines: [second('999999999')],
      seconds: 3_600,
      rules: [{ project: null, model: '*', markup: '999999999' }],
    }),
    /too large/,
  )
  assert.equal(price({ lines: null, settings: { unpriced: 'free' } }), null)
  const huge = {
    lines: [second('999999999')],
    seconds: 3_600,
    rules: [{ project: null, model: '*', markup: '999999999' }],
  }
  assert.throws(() => price({ ...huge, settings: { unpriced: 'free' } }), /too large/)
  assert.equal(price({ lines: [second('0')], currency: 'CNY' })?.charge, 0, 'nothing costs the same everywhere')
})

it('a token with a cap gets nothing without a price, even if that is free for others', () => {
  const settings = { currency: 'USD', unpriced: 'free', region: null, rules: [] } as const
  const spend = [{ period: 'day', limit: 1_000_000, zone: 'UTC' }] as const
  assert.equal(pricesFor(settings, { kind: 'client', spend })?.unpriced, 'refuse')
  assert.equal(pricesFor(settings, { kind: 'client' })?.unpriced, 'free')
})

it('a model with several routes costs what the dearest costs, and is unpriced if one of them is', () => {
  const table = (text: string) => ({ currency: 'USD', on: '2026-11', source: 'a list', lines: [second(text)] })
  const costOf = (...prices: (ReturnType<typeof table> | null | undefined)[]) => {
    const routes = prices.map((price, at) => ({
      ...{ account: `a${at}`, upstreamModel: 'one', priority: at, weight: 1 },
      ...(price !== undefined && { price }),
    }))
    const facts = { ...common, audio: 'optional', price: table('0.1') } as const
    const card = { ...toCard(template, []), facts, routes }
    const request = { card, owner: 'alice', seconds: 5, size: { width: 1280, height: 720 }, parameters: {} }
    const settings = { currency: 'USD', unpriced: 'refuse', region: null, rules: [] } as const
    return priceRequest(settings, { ...request, hasImage: false, sourceSeconds: 0 })?.cost
  }
  assert.equal(costOf(undefined), 500_000)
  assert.equal(costOf(table('0.8')), 4_000_000)
  assert.equal(costOf(undefined, table('0.05'), table('0.8')), 4_000_000)
  assert.throws(() => costOf(undefined, null), /'acme-1' has no price/)
})

describe('the price of a model', () => {
  const table = {
    currency: 'USD',
    on: '2026-11',
    source: 'a list',
    lines: [second('0.1'), second('0.2', { region: 'eu' })],
  }
  const facts = { ...common, audio: 'optional', price: table } as const
  const card = { ...toCard(template, ['main']), facts }
  const usual: PriceSettings = { currency: 'USD', unpriced: 'refuse', region: null, rules: [] }
  const listed = (settings: Partial<PriceSettings>, more: Partial<typeof card> = {}, owner = 'alice') =>
    priceOfModel({ ...usual, ...settings }, { ...card, ...more }, owner)
  const priced = (...lines: PriceLine[]) => ({ currency: 'USD', lines })

  it('is null where nothing is charged', () => {
    assert.equal(priceOfModel(null, card, 'alice'), null)
  })

  it('is what the operator charges, in their region', () => {
    assert.deepEqual(listed({}), priced(second('0.1')))
    assert.deepEqual(listed({ region: 'eu' }), priced(second('0.2', { region: 'eu' })))
    const markup: PriceRule = { project: null, model: '*', markup: '1.50' }
    assert.deepEqual(listed({ rules: [markup] }), priced(second('0.15')))
    const team: PriceRule = { project: 'team', model: '*', price: [second('9')] }
    assert.deepEqual(listed({ rules: [team, markup] }, {}, 'team'), priced(second('9')))
    assert.deepEqual(listed({ rules: [team, markup] }), priced(second('0.15')))
    const tens: PriceRule = { project: null, model: '*', markup: '100', cost: [second('1')] }
    assert.deepEqual(listed({ rules: [tens] }), priced(second('100')))
    assert.deepEqual(listed({ rules: [markup] }, { ownPrice: [second('3')] }), priced(second('3')))
  })

  it('is null where it is unknown, or depends on the route', () => {
    assert.equal(listed({ currency: 'EUR' }), null)
    const free = { facts: { ...facts, price: { ...table, lines: [second('0')] } } }
    assert.deepEqual(listed({ currency: 'EUR' }, free), { currency: 'EUR', lines: [second('0')] })
    assert.equal(listed({}, { facts: { ...facts, price: { ...table, lines: [second('1', { region: 'us' })] } } }), null)
    const route = { upstreamModel: 'one', priority: 1, weight: 1 }
    const routes = [
      { account: 'a', ...route },
      { account: 'b', ...route, price: { ...table, lines: [second('7')] } },
    ]
    assert.equal(listed({}, { routes }), null)
    const own: PriceRule = { project: null, model: '*', price: [second('2')] }
    assert.deepEqual(listed({ rules: [own] }, { routes }), priced(second('2')))
    const same = routes.map((one) => ({ ...one, price: { ...table, lines: [second('7')] } }))
    assert.deepEqual(listed({}, { routes: same }), priced(second('7')))
  })

  it('is null where a request has none', () => {
    const image: PriceLine = { unit: 'input_image', price: '1' }
    const tokens: PriceLine = { unit: 'output_token', price: '0.000004' }
    const bounded = { ...tokens, tokens_per_second: 20_000 }
    for (const [lines, isKnown] of [
      [[image], false],
      [[tokens], false],
      [[tokens, second('1')], false],
      [[bounded, image], true],
    ] as const) {
      const rules: PriceRule[] = [{ project: null, model: '*', price: lines }]
      assert.deepEqual(listed({ rules }), isKnown ? priced(...lines) : null)
      assert.equal(price({ rules, settings: { unpriced: 'free' } }) !== null, isKnown)
    }
  })
})
