import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newServiceAccount } from '../../simulators/vertex.ts'
import { providers } from '../providers/index.ts'
import { load, mistakesOf, remote } from './load.fixture.ts'

const model = (settings: object) => JSON.stringify({ models: { fox: { account: 'studio', ...settings } } })

it('a mistake in a route is told where it is', () => {
  const noList = 'models.m.routes: it is not a list of routes; write for example [{account: main, model: name}]'
  for (const [routes, mistake] of [
    ['"main"', noList],
    ['[]', noList],
    ['[null]', 'models.m.routes[0].account: it is missing; use one of: studio'],
    ['[main]', 'models.m.routes[0]: it is not a map; write it as indented "name: value" lines'],
    ['[{account: main}]', "models.m.routes[0].account: there is no account 'main'; use one of: studio"],
    ['[{account: {}}]', 'models.m.routes[0].account: it is not text; use one of: studio'],
    [
      '[{account: studio, model: ""}]',
      'models.m.routes[0].model: it is not text; write the name of the model at the provider',
    ],
    ['[{account: studio, weight: .inf}]', 'models.m.routes[0].weight: it is not a number above 0; leave it out for 1'],
  ] as const) {
    const [first = ''] = mistakesOf(`models: {m: {routes: ${routes}}}`)
    assert.ok(first.startsWith(mistake), `${routes}: ${first}`)
  }
})

it('an ambiguous or empty setting is a mistake', () => {
  for (const [settings, mistake] of [
    [
      { routes: [{ account: 'studio' }] },
      'models.fox.account: it is set together with routes; leave out one of the two',
    ],
    [{ model: '' }, 'models.fox.model: it is not text; write the name of the model at the provider or in'],
    [{ concurrency: 1e300 }, 'models.fox.concurrency: it is not a whole number from 1 to 100000; leave it out for no'],
    [{ deadlines: { start: ['1h'] } }, 'models.fox.deadlines.start: it is not a duration; use a number and a unit'],
    [{ deadlines: { start: '2h', total: '1h' } }, 'models.fox.deadlines.start: it is longer than total; make it'],
    [{ deadlines: { start: '7d' } }, 'models.fox.deadlines.start: it is longer than total; make it shorter'],
    [
      { seconds: { default: [4] } },
      'models.fox.seconds.default: it is not a whole number from 1 to 3600; choose from 1 to 20',
    ],
    [{ seconds: { values: [4], max: 9 } }, 'models.fox.seconds: there are values and a range; write values, or min'],
    [{ size: { default: ['640x360'] } }, "models.fox.size.default: it is not a size; write for example '1280x720'"],
    [{ image: ['none'] }, 'models.fox.image: it is not text; use none, optional or required'],
  ] as const) {
    const list = mistakesOf(model(settings))
    assert.equal(list.length, 1, list.join('\n'))
    assert.ok(list[0]?.startsWith(mistake), list[0])
  }
  const many = mistakesOf('tokens: [{name: a, secret: b, concurrency: 1e300}]')
  assert.deepEqual(many, [
    'tokens[0].concurrency: it is not a whole number from 1 to 100000; leave it out for no limit',
  ])
})

it('a model that has to end early has to start early too, unless it says when', () => {
  const { deadlines } = load(model({ deadlines: { total: '2h' } })).catalog.entries.get('fox')?.card ?? {}
  assert.deepEqual(deadlines, { startMs: 7_200_000, totalMs: 7_200_000 })
})

it('a model allows nothing that its provider does not generate', () => {
  const size = "models.fox.size: 'studio' does not generate videos of"
  const accepts = "Model 'studio' accepts <width>x<height> with each side from 256 to 1920, a multiple of 2"
  for (const [settings, mistake] of [
    [{ size: { values: ['255x255'] } }, `${size} 255x255; ${accepts}`],
    [{ size: { values: ['640x360', '1280x721'] } }, `${size} 1280x721; ${accepts}`],
    [{ size: { values: ['4096x2160'] }, model: 'studio' }, `${size} 4096x2160; ${accepts}`],
    [
      { size: { default: '255x255' } },
      "models.fox.size.default: the model does not accept this size; choose one such as '",
    ],
    [
      { seconds: { max: 21 } },
      "models.fox.seconds: 'studio' does not generate videos of 21 s; Model 'studio' accepts whole seconds",
    ],
    [
      { seconds: { values: [4, 60] } },
      "models.fox.seconds: 'studio' does not generate videos of 60 s; Model 'studio' accepts",
    ],
  ] as const) {
    const list = mistakesOf(model(settings))
    assert.equal(list.length, 1, list.join('\n'))
    assert.ok(list[0]?.startsWith(mistake), list[0])
  }
  assert.deepEqual(mistakesOf(model({ size: { values: ['256x1920'] }, seconds: { values: [1, 20] } })), [])
})

it('each route of a model supports all that the model allows, as far as the limits of its provider are known', () => {
  const accounts = { main: { provider: 'acme', base_url: 'https://api.example.com' } }
  const both = (settings: object) =>
    mistakesOf(JSON.stringify({ accounts, models: { fox: settings } }), {}, {}, { ...providers, ...remote })
  const routes = [
    { account: 'studio', model: 'studio' },
    { account: 'main', model: 'one' },
  ]
  assert.deepEqual(both({ routes }), [
    "models.fox.seconds: 'acme' does not generate videos of 1 s; Supported values are: '4', '8'",
    "models.fox.size: 'acme' does not generate videos of 256x256; Supported values are: '1280x720'",
  ])
  assert.deepEqual(both({ routes, seconds: { values: [8] }, size: { values: ['1280x720'] } }), [])
  assert.deepEqual(both({ account: 'main', model: 'acme-1', seconds: { values: [30] } }), [
    "models.fox.seconds: 'acme' does not generate videos of 30 s; Supported values are: '4', '8'",
  ])
})

it('a route takes the name of the catalogue as well as that of the provider', () => {
  const accounts = `accounts: {v: {provider: vertex, key: '${JSON.stringify(newServiceAccount())}'}, far: {provider: fal, key: k}}`
  const namesOf = (model: string) =>
    load(`${accounts}\nmodels: {mine: ${model}}`)
      .catalog.entries.get('mine')
      ?.card.routes.map(({ upstreamModel }) => upstreamModel)
  const card = providers.fal.cards.find(({ id }) => id === 'fal/veo-3.1')
  assert.ok(card)
  const narrow = 'seconds: {values: [8]}, size: {values: [1280x720]}'
  for (const model of ['veo-3.1-fast', 'veo-3.1-fast-generate-001'])
    assert.deepEqual(namesOf(`{account: v, model: ${model}, ${narrow}}`), ['veo-3.1-fast-generate-001'])
  assert.deepEqual(namesOf(`{${narrow}, routes: [{account: v, model: veo-3.1}, {account: far, model: fal/veo-3.1}]}`), [
    'veo-3.1-generate-001',
    card.upstreamModel,
  ])
})

it('a route to a model that its provider does not have is a mistake at the start', () => {
  const accounts =
    'accounts: {k: {provider: kling, key: a}, far: {provider: fal, key: b}, r: {provider: replicate, key: c}}'
  const wrong = (models: string) =>
    mistakesOf(`${accounts}\nengines: [{url: "http://127.0.0.1:9", name: gpu}]\nmodels: ${models}`)
  const klings = 'use one of: kling-3.0, kling-3.0-turbo, kling-3.0-omni'
  for (const [models, place, name] of [
    ['{m: {account: k, model: kling-4.0}}', 'models.m.model', 'kling-4.0'],
    ['{m: {routes: [{account: k, model: Kling-3.0}]}}', 'models.m.routes[0].model', 'Kling-3.0'],
    ['{kling-3.0: {model: kling-4.0}}', 'models.kling-3.0.model', 'kling-4.0'],
    ['{m: {model: kling-9, routes: [{account: k}]}}', 'models.m.model', 'kling-9'],
    ['{m: {routes: [{account: gpu, model: wan}, {account: k, model: wan}]}}', 'models.m.routes[1].model', 'wan'],
  ] as const)
    assert.deepEqual(wrong(models), [`${place}: 'kling' has no model '${name}'; ${klings}`], models)
  const [other = ''] = wrong('{m: {routes: [{account: k, model: kling-3.0}, {account: far}]}}')
  assert.match(other, /^models\.m\.routes\[1\]\.model: 'fal' has no model 'kling-3\.0'; use one of: fal\/veo-3\.1, /)
  // Names that begin as ours do are ours, and anything else of that form is the provider's own.
  assert.match(wrong('{m: {account: far, model: fal/veo-9}}')[0] ?? '', /'fal' has no model 'fal\/veo-9'/)
  assert.match(wrong('{m: {account: r, model: replicate/x}}')[0] ?? '', /'replicate' has no model 'replicate\/x'/)
  for (const models of ['{m: {account: far, model: fal-ai/new/model}}', '{m: {account: r, model: acme/film}}'])
    assert.deepEqual(wrong(models), [], models)
  // What an engine has only the engine knows.
  assert.deepEqual(wrong('{m: {account: gpu, model: Wan-AI/Wan2.2}}'), [])
})

it('endpoints and the names of another region are models of Ark', () => {
  const wrong = (model: string) => mistakesOf(`models: {m: {account: ark, model: ${model}}}`, { ARK_API_KEY: 'abc' })
  for (const model of ['ep-20261101-abcde', 'doubao-seedance-2-0-260128', 'dreamina-seedance-2-5-261101'])
    assert.deepEqual(wrong(model), [], model)
  assert.match(wrong('seedream-5')[0] ?? '', /^models\.m\.model: 'ark' has no model 'seedream-5'; use one of: /)
})

it('an alias may have any name that is one, and places are written so that names can be told from them', () => {
  const { catalog } = load('aliases: { __proto__: studio, constructor: studio }\ndefault_model: __proto__')
  assert.deepEqual([...catalog.entries.keys()], ['studio', '__proto__', 'constructor'])
  assert.equal(catalog.entries.get('__proto__')?.card.id, 'studio')
  const list = mistakesOf('accounts: { ../evil: { provider: nobody } }\nmodels: { "a b": { account: x } }')
  assert.deepEqual(
    list.map((line) => line.split(': ')[0]),
    ['accounts["../evil"]', 'accounts["../evil"].provider', 'models["a b"]', 'models["a b"].account'],
  )
})

it('the name of a model or an alias has no part that would change a path', () => {
  for (const name of ['..', '.', 'a/../b', '../b', 'a/.'])
    assert.match(mistakesOf(`aliases: { "${name}": studio }`).join(), /it is not a valid name; use letters/, name)
  for (const name of ['.a', 'a..b', 'a/..b', '...', 'fal-ai/kling.3/pro'])
    assert.deepEqual(mistakesOf(`aliases: { "${name}": studio }`), [], name)
})

it('the description of a model is text that every JSON reader accepts', () => {
  const mistakes = (text: string) => mistakesOf(`models: { studio: { description: ${JSON.stringify(text)} } }`).join()
  for (const text of ['\ud800lone', 'a\0b', '\u001b[1m'])
    assert.match(mistakes(text), /it has control characters, or half a surrogate pair/, JSON.stringify(text))
  assert.equal(mistakes('two\nlines, 电影 🎬'), '')
})

it('a pattern of a token that fits no model is a warning', () => {
  const yaml = `
aliases: { sora-2: studio }
tokens:
  - { name: a, secret: "1", models: [studio, "sora-*", "kling-*"] }
  - { name: b, secret: "2", models: ["\${KEY}"] }
  - { name: c, secret: "3", models: [] }
  - { name: d, secret: "4" }
`
  const { catalog, warningsOfModels } = load(yaml, { KEY: 'very secret' })
  const warnings = warningsOfModels(catalog)
  const ofPatterns = warnings.filter((warning) => warning.includes('matches no model'))
  assert.deepEqual(ofPatterns, [
    "tokens[0].models[1]: 'sora-*' matches no model",
    "tokens[0].models[2]: 'kling-*' matches no model",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how the file writes it
    "tokens[1].models[0]: '${KEY}' matches no model",
  ])
  assert.deepEqual(load('accounts: { studio: { enabled: false } }', { FILMGATE_TOKEN: 'x'.repeat(20) }).warnings, [])
})

it('any value in the wrong place is a mistake with a place and a fix, never a crash', () => {
  const odd: unknown[] = [{ toString: 'x', valueOf: 'x' }, ['x'], [[]], [null], true, 1e300, -1, '', 'x', {}]
  const places: ((value: unknown) => object)[] = [
    ...['models', 'aliases', 'default_model', 'accounts', 'tokens', 'outbound'].map((name) => (value: unknown) => ({
      [name]: value,
    })),
    ...['provider', 'enabled', 'concurrency', 'on_unknown', 'base_url', 'key'].map((name) => (value: unknown) => ({
      accounts: { studio: { [name]: value } },
    })),
    ...['account', 'model', 'routes', 'seconds', 'size', 'image', 'concurrency', 'deadlines', 'paused', 'price'].map(
      (name) => (value: unknown) => ({ models: { studio: { [name]: value } } }),
    ),
    ...['account', 'model', 'priority', 'weight'].map((name) => (value: unknown) => ({
      models: { fox: { routes: [{ account: 'studio', [name]: value }] } },
    })),
    ...['values', 'min', 'max', 'default'].map((name) => (value: unknown) => ({
      models: { studio: { seconds: { [name]: value }, size: { [name]: value }, deadlines: { start: value } } },
    })),
    ...['name', 'secret', 'models', 'concurrency'].map((name) => (value: unknown) => ({
      tokens: [{ name: 'a', secret: 'b', [name]: value }],
    })),
    (value) => ({ aliases: { a: value } }),
    (value) => ({ outbound: { allow: value } }),
    (value) => ({ outbound: { allow: [value] } }),
  ]
  for (const place of places)
    for (const value of odd)
      for (const line of mistakesOf(JSON.stringify(place(value)))) assert.match(line, /^[^:]+: .+; .+$/)
})

it('a model that is changed keeps the words of its provider for the sizes that are left', () => {
  const env = { KLING_API_KEY: 'abc' }
  const sizeOf = (yaml: string) => load(yaml, env).catalog.entries.get('kling-3.0')?.card.size
  const shapesOf = (yaml: string) => Object.keys((sizeOf(yaml) as { shapes?: object })?.shapes ?? {})
  assert.ok(shapesOf('models: { kling-3.0: { concurrency: 5 } }').includes('720x1280'))
  assert.deepEqual(shapesOf('models: { kling-3.0: { size: { values: [1280x720] } } }'), ['1280x720'])
})

it('a model may be paused and have a price of its own; a new model that is like it has neither', () => {
  const studio = { paused: true, price: [{ unit: 'second', price: '0.1' }] }
  const { entries } = load(JSON.stringify({ models: { studio, fox: { account: 'studio' } } })).catalog
  const settingsOf = (name: string) => {
    const card = entries.get(name)?.card
    return [card?.isPaused, card?.ownPrice?.[0]?.price]
  }
  assert.deepEqual(settingsOf('studio'), [true, '0.1'])
  assert.deepEqual(settingsOf('fox'), [undefined, undefined])
})

it('a new model does not get the price of another', () => {
  const { entries } = load('models: { mine: { account: fal, model: acme/film } }', { FAL_KEY: 'abc' }).catalog
  assert.equal(entries.get('mine')?.card.facts, undefined)
  assert.ok(entries.get('fal/veo-3.1')?.card.facts?.price)
})

it('a model derives videos only if all of its routes can: another provider would ignore the source', () => {
  const accounts = `accounts: {far: {provider: fal, key: k}, second: {provider: studio}}`
  const makes = (routes: string) =>
    load(`${accounts}\nmodels: {studio: {${routes}}}`).catalog.entries.get('studio')?.card.makes ?? []
  const all = ['remix', 'edit', 'extension']
  assert.deepEqual(makes('routes: [{account: studio}, {account: second}]'), all)
  assert.deepEqual(makes('description: x'), all)
  assert.deepEqual(makes('seconds: {values: [5]}, routes: [{account: far, model: fal-ai/x}]'), [])
})

it('a route to another model has the price of that model', () => {
  const account =
    'accounts: { main: { provider: kling, key: a-long-key }, other: { provider: kling, key: another-key } }'
  const routes = '[{ account: main, model: kling-3.0-omni }, { account: other }]'
  const cardOf = (name: string, models = '') => load(`${account}\n${models}`).catalog.entries.get(name)?.card
  const omni = cardOf('kling-3.0-omni')?.facts?.price
  assert.ok(omni)
  const turbo = cardOf('kling-3.0-turbo', `models: { kling-3.0-turbo: { routes: ${routes} } }`)
  assert.deepEqual(
    turbo?.routes.map(({ price }) => price),
    [omni, undefined],
  )
})

it('a model ends with its vendor’s, unless all its routes lead to other models', () => {
  const { acme } = remote
  const [card] = acme?.cards ?? []
  assert.ok(acme && card)
  const cards = [
    { ...card, retiresOn: '2026-01-31' },
    { ...card, id: 'acme-2', upstreamModel: 'two' },
  ]
  const members = { ...providers, acme: { ...acme, cards } }
  const account = { provider: 'acme', base_url: 'https://api.example.com' }
  const accounts = { acme: account, other: account }
  const endOf = (models: object, name = card.id) =>
    load(JSON.stringify({ accounts, models }), {}, {}, members).catalog.entries.get(name)?.card.retiresOn
  const elsewhere = { account: 'acme', model: 'acme-2' }
  assert.equal(endOf({}), '2026-01-31')
  assert.equal(endOf({ [card.id]: { concurrency: 2 } }), '2026-01-31')
  assert.equal(endOf({ [card.id]: { routes: [elsewhere, { account: 'other' }] } }), '2026-01-31')
  assert.equal(endOf({ [card.id]: elsewhere }), undefined)
  assert.equal(endOf({ fox: elsewhere }, 'fox'), undefined)
})
