import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf, remote } from './load.fixture.ts'

const account = 'accounts: { acme: { base_url: https://acme.example, key: k } }\n'

it('a cap of one token sets no prices for the others', () => {
  const { prices, tokens } = load('tokens: [{ name: a, secret: s, spend: { day: { limit: "5" } } }]')
  assert.equal(prices, null)
  assert.deepEqual(load('prices: {}').prices, { currency: 'USD', unpriced: 'refuse', region: null, rules: [] })
  assert.deepEqual(tokens.find(({ name }) => name === 'a')?.spend, [{ period: 'day', limit: 5_000_000, zone: 'UTC' }])
})

it('reads prices, costs and markups: of projects first, of full names before globs', () => {
  const { prices } = load(
    `${account}
prices:
  currency: EUR
  unpriced: free
  region: eu
  markup: "1.5"
  models:
    "*": { markup: "3" }
    acme-1: { price: [{ unit: second, price: "0.2", resolution: 720p, audio: true }], cost: [{ unit: video, price: "1" }] }
  projects:
    team: { markup: "1", models: { acme-1: { markup: "2" } } }
`,
    {},
    {},
    remote,
  )
  assert.deepEqual(prices, {
    currency: 'EUR',
    unpriced: 'free',
    region: 'eu',
    rules: [
      { project: 'team', model: 'acme-1', markup: '2' },
      { project: 'team', model: '*', markup: '1' },
      {
        project: null,
        model: 'acme-1',
        price: [{ unit: 'second', price: '0.2', resolution: '720p', audio: true }],
        cost: [{ unit: 'video', price: '1' }],
      },
      { project: null, model: '*', markup: '3' },
      { project: null, model: '*', markup: '1.5' },
    ],
  })
})

it('reads the currencies of earlier amounts', () => {
  const { prices } = load('prices: { currency: EUR, former_currencies: [USD] }')
  assert.deepEqual(prices?.formerCurrencies, ['USD'])
  assert.match(
    mistakesOf('prices: { former_currencies: [dollars] }').join(),
    /^prices\.former_currencies: it is not a list of currencies; write for example \[USD\]/,
  )
})

it('names each mistake and its fix', () => {
  assert.deepEqual(
    mistakesOf(`
prices:
  currency: dollars
  unpriced: maybe
  markup: 1.5
  models: { studio: { markup: "2", price: [{ unit: second, price: "1e-7" }] } }
tokens:
  - { name: a, secret: s, spend: { day: { limit: 5 }, month: { limit: "5", time_zone: Europe/Atlantis } } }
`),
    [
      'prices.currency: it is not the code of a currency; write three capital letters such as USD',
      "prices.unpriced: 'maybe' is not allowed; use refuse or free",
      "prices.markup: it is not a decimal number in quotes; write for example '1.2' to add 20 %",
      'prices.models.studio.markup: it is set together with price; leave out one of the two',
      "prices.models.studio.price[0].price: it is not a decimal number in quotes; write for example '0.084'",
      "tokens[0].spend.day.limit: it is not an amount in quotes; write for example '5.00'",
      "tokens[0].spend.month.time_zone: there is no time zone 'Europe/Atlantis'; use a name such as UTC or Europe/Berlin",
    ],
  )
})

it('warns of models without a price, with what happens to them, and of prices without a model', () => {
  const warningsOf = (yaml: string) => {
    const { catalog, warningsOfModels } = load(`${account}${yaml}`, {}, {}, remote)
    return warningsOfModels(catalog)
  }
  const warnings = warningsOf('prices: { models: { acme-9: { markup: "2" } } }')
  assert.deepEqual(warnings, [
    "prices: 'acme-9' matches no model",
    'prices: models without a price are refused (acme-1); set a price under `prices.models`, or `prices.unpriced: free`',
  ])
  const free = warningsOf('prices: { unpriced: free }')
  assert.match(String(free), /without a price are free \(acme-1\); set a price under `prices\.models`$/)
  const { catalog, warningsOfModels } = load('prices: {}')
  assert.deepEqual(warningsOfModels(catalog), [], 'studio has a price: 0')
})
