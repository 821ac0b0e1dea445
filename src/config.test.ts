import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf } from './config/load.fixture.ts'
import { digestSecret } from './core/token.ts'

it('without any setting it listens on loopback, keeps videos a day, and has the built-in model', () => {
  const config = load('')
  assert.deepEqual(
    [config.host, config.port, config.data, config.retentionMs],
    ['127.0.0.1', 8484, './filmgate-data', 86_400_000],
  )
  assert.deepEqual([...config.catalog.entries.keys()], ['studio'])
  assert.equal(config.catalog.defaultModel, null)
  assert.deepEqual(config.tokens, [])
})

it('a flag wins over its variable, and an empty one counts as none', () => {
  assert.equal(load('', { FILMGATE_PORT: '1' }, { port: '2' }).port, 2)
  assert.equal(load('', { FILMGATE_PORT: '' }).port, 8484)
})

it('reads the whole of filmgate.yaml', () => {
  const config = load(
    `
models:
  studio: { seconds: { max: 10, default: 8 }, description: ours }
  short: { account: studio, seconds: { values: [2, 3] }, size: { values: [640x360, 360x640] }, image: none }
aliases: { sora-2: studio }
default_model: sora-2
accounts: { studio: { concurrency: 3 }, second: { provider: studio, concurrency: 1 } }
tokens:
  - { name: a, secret: "\${SECRET}", models: [sora-*] }
  - { name: b, secret: two words }
outbound: { allow: [10.0.0.0/8] }
`,
    { SECRET: 'from outside', FILMGATE_TOKEN: 'My API Key' },
  )
  assert.deepEqual([...config.catalog.entries.keys()], ['studio', 'short', 'sora-2'])
  assert.deepEqual(config.catalog.entries.get('sora-2')?.card.seconds, { min: 1, max: 10, default: 8 })
  assert.deepEqual(config.catalog.entries.get('short')?.card.size, {
    values: ['640x360', '360x640'],
    default: '640x360',
  })
  assert.deepEqual(config.catalog.entries.get('short')?.card.seconds, { values: [2, 3], default: 2 })
  assert.equal(config.catalog.defaultModel, 'sora-2')
  assert.deepEqual(
    config.accounts.map(({ name, provider, concurrency, onUnknown }) => [name, provider, concurrency, onUnknown]),
    [
      ['studio', 'studio', 3, 'hold'],
      ['second', 'studio', 1, 'hold'],
    ],
  )
  assert.deepEqual(
    config.catalog.entries.get('sora-2')?.card.routes.map(({ account }) => account),
    ['studio', 'second'],
  )
  assert.deepEqual(config.tokens, [
    { kind: 'client', name: 'default', digest: digestSecret('My API Key'), models: ['*'] },
    { kind: 'client', name: 'a', digest: digestSecret('from outside'), models: ['sora-*'] },
    { kind: 'client', name: 'b', digest: digestSecret('two words'), models: ['*'] },
  ])
  assert.deepEqual(config.outboundAllow, ['10.0.0.0/8'])
})

it('a provider that is switched off takes its models along', () => {
  assert.deepEqual([...load('accounts: { studio: { enabled: false } }').catalog.entries.keys()], [])
})

it('reports every mistake at once, each with its place and its fix', () => {
  const list = mistakesOf(
    `
modells: {}
aliases: { sora-2: nothing, studio: studio, "bad name": studio }
default_model: nowhere
accounts: { studio: { concurrency: 0, speed: 9, key: x, on_unknown: guess }, acme: {} }
models:
  studio: { seconds: { min: 5, max: 2 }, image: maybe, size: { default: big } }
  other: { description: no provider }
tokens: [{ name: a }, { name: b, secret: " x" }, { name: b, secret: y }, { secret: y }, { name: c, secret: y, models: all }]
outbound: { allow: ["not a place"] }
`,
    { FILMGATE_PORT: '99999', FILMGATE_RETENTION: 'soon', FILMGATE_TOKN: 'x', FILMGATE_BASE_URL: 'fine' },
    { host: 'no host' },
  )
  const expected = [
    "--host: 'no host' can't be used",
    "FILMGATE_PORT: '99999' can't be used",
    "FILMGATE_RETENTION: 'soon' can't be used",
    'FILMGATE_TOKN: there is no such setting',
    "'modells' is not a setting",
    "accounts.acme.provider: there is no provider 'acme'",
    "'speed' is not a setting",
    'accounts.studio.concurrency',
    'accounts.studio.on_unknown',
    'accounts.studio.key: this provider does not use it',
    'models.studio.seconds',
    'models.studio.image',
    'models.studio.size.default',
    'models.other.account',
    "aliases.sora-2: there is no model 'nothing'",
    'aliases.studio: a model has this name already',
    'aliases["bad name"]',
    "default_model: there is no model 'nowhere'",
    'tokens[0].secret',
    "tokens[1]: the secret can't be sent",
    "tokens[2].name: the name 'b' is used twice",
    'tokens[3].name',
    'tokens[4].models',
    'outbound.allow',
  ]
  for (const part of expected)
    assert.ok(
      list.some((line) => line.includes(part)),
      `no mistake says: ${part}`,
    )
  assert.equal(list.length, expected.length, list.join('\n'))
  for (const line of list) assert.match(line, /^.+: .+; .+$/)
})

it('a file that is absent, broken or of another shape is a mistake, as is a variable that is not set', () => {
  assert.match(mistakesOf('', { FILMGATE_CONFIG: '/absent/filmgate.yaml' })[0] ?? '', /can't be read/)
  assert.match(mistakesOf('a: [')[0] ?? '', /filmgate\.yaml: .*; fix the YAML/)
  assert.match(mistakesOf('- a')[0] ?? '', /not a map/)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how the file writes it
  assert.match(mistakesOf('default_model: ${NOT_SET}')[0] ?? '', /NOT_SET is not set/)
  assert.match(mistakesOf('tokens: 3')[0] ?? '', /not a list/)
})

it('an account has a name that can be a folder', () => {
  const yaml = (name: string) => `accounts: { "${name}": { provider: studio } }`
  for (const name of ['bucket', '.hidden', 'a..b', '1.', 'kling-main'])
    assert.deepEqual(mistakesOf(yaml(name)), [], name)
  for (const name of ['.', '..', '...', 'a/b', '../x', 'a b', ''])
    assert.deepEqual(mistakesOf(yaml(name)), [
      `accounts${name === 'a/b' ? '.a/b' : `["${name}"]`}: it is not a valid name; use letters, digits and . _ -`,
    ])
})

it('reads routes, deadlines and limits, and reports what is wrong with them', () => {
  const { catalog, tokens } = load(`
accounts: { one: { provider: studio }, two: { provider: studio, on_unknown: resubmit } }
models:
  mixed:
    concurrency: 5
    deadlines: { start: 30m, total: 2h }
    routes: [{ account: two, priority: 1, weight: 3 }, { account: one, model: studio }]
tokens: [{ name: a, secret: b, concurrency: 2 }]
`)
  const card = catalog.entries.get('mixed')?.card
  assert.deepEqual(card?.routes, [
    { account: 'two', upstreamModel: 'studio', priority: 1, weight: 3 },
    { account: 'one', upstreamModel: 'studio', priority: 0, weight: 1 },
  ])
  assert.deepEqual([card?.concurrency, card?.deadlines], [5, { startMs: 1_800_000, totalMs: 7_200_000 }])
  assert.equal(tokens[0]?.concurrency, 2)
  const list = mistakesOf(`
models:
  a: { routes: [{ account: studio, weight: 0, priority: high }, { account: studio }] }
  b: { routes: [] , account: studio }
  c: { account: nobody }
  studio: { deadlines: { start: soon }, concurrency: none }
tokens: [{ name: a, secret: b, concurrency: 0 }]
`)
  for (const part of [
    'models.a.routes[0].weight',
    'models.a.routes[0].priority',
    'models.a.routes: two routes',
    'models.b.routes: it is not a list',
    "models.c.account: there is no account 'nobody'",
    'models.studio.deadlines.start',
    'models.studio.concurrency',
    'tokens[0].concurrency',
  ])
    assert.ok(
      list.some((line) => line.startsWith(part)),
      `no mistake says: ${part}\n${list.join('\n')}`,
    )
})

it('a FILMGATE_TOKEN for the command line does not keep the service from starting', () => {
  const yaml = (name: string) => `tokens: [{ name: ${name}, secret: mine, models: [studio] }]`
  const namesOf = ({ tokens }: ReturnType<typeof load>) => tokens.map(({ name, models }) => [name, ...models])
  assert.deepEqual(namesOf(load(yaml('team'), { FILMGATE_TOKEN: 'mine' })), [['team', 'studio']])
  const both = load(yaml('team'), { FILMGATE_TOKEN: 'other' })
  assert.deepEqual(namesOf(both), [
    ['default', '*'],
    ['team', 'studio'],
  ])
  const named = load(yaml('default'), { FILMGATE_TOKEN: 'other' })
  assert.deepEqual(namesOf(named), [['default', 'studio']])
  assert.match(named.warnings.join(), /FILMGATE_TOKEN is not accepted by this service/)
  assert.deepEqual([both.acceptsGivenToken, named.acceptsGivenToken], [true, false])
  // A flag is meant for the service alone.
  assert.throws(() => load(yaml('team'), {}, { token: 'mine' }), /used twice/)
})

it('the usage webhook needs a web address, its token needs a webhook, and no mistake shows either', () => {
  const url = 'https://meter.example/api/v1/events'
  const given = { FILMGATE_USAGE_WEBHOOK: url, FILMGATE_USAGE_WEBHOOK_TOKEN: 'a long secret' }
  const { usageWebhook, secrets } = load('', given)
  assert.deepEqual(usageWebhook, { url, token: 'a long secret' })
  assert.ok(secrets.includes('a long secret'))
  assert.equal(load('').usageWebhook, null)
  for (const [env, mistake] of [
    [{ FILMGATE_USAGE_WEBHOOK: 'ftp://secret' }, /FILMGATE_USAGE_WEBHOOK: its value can't be used.*use a URL such as/],
    [{ FILMGATE_USAGE_WEBHOOK: 'https://me:secret@x.example' }, /without a user name/],
    [{ FILMGATE_USAGE_WEBHOOK: 'https://:secret@x.example' }, /without a user name or password/],
    [{ FILMGATE_USAGE_WEBHOOK_TOKEN: 'secret' }, /there is no URL for this token.*set FILMGATE_USAGE_WEBHOOK, too/],
    [{ ...given, FILMGATE_USAGE_WEBHOOK_TOKEN: 'secret\n' }, /FILMGATE_USAGE_WEBHOOK_TOKEN: its value can't be used/],
  ] as const) {
    const mistakes = mistakesOf('', env).join('\n')
    assert.match(mistakes, mistake)
    assert.doesNotMatch(mistakes, /secret/)
  }
})

it('usage is kept for 400 days, or for as long as the setting says', () => {
  const day = 86_400_000
  assert.equal(load('').usageRetentionMs, 400 * day)
  assert.equal(load('', { FILMGATE_USAGE_RETENTION: '90d' }).usageRetentionMs, 90 * day)
  const mistakes = mistakesOf('', { FILMGATE_USAGE_RETENTION: '90' }).join('\n')
  assert.match(mistakes, /FILMGATE_USAGE_RETENTION: '90' can't be used.*use a number and a unit: 90s/)
})

it('alarms need a web address and a secret that signs them, and no mistake shows either', () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const url = 'http://10.0.0.7:9000/hook?key=hidden'
  const slack = 'https://hooks.slack.com/services/T0/B0/hidden'
  const given = { FILMGATE_ALARM_WEBHOOK: url, FILMGATE_ALARM_WEBHOOK_SECRET: secret, FILMGATE_ALARM_SLACK: slack }
  const { alarms, secrets } = load('', { ...given, FILMGATE_ALARM_QUEUE_AGE: '2h' })
  assert.deepEqual(alarms, { webhook: { url, secret }, slack, queueAgeMs: 7_200_000 })
  for (const hidden of [url, secret, slack]) assert.ok(secrets.includes(hidden))
  assert.deepEqual(load('').alarms, { webhook: null, slack: null, queueAgeMs: 900_000 })
  for (const [env, mistake] of [
    [{ FILMGATE_ALARM_WEBHOOK: url }, /there is no secret that signs alarms.*set FILMGATE_ALARM_WEBHOOK_SECRET, too/],
    [{ FILMGATE_ALARM_WEBHOOK_SECRET: secret }, /there is no URL for this secret.*set FILMGATE_ALARM_WEBHOOK, too/],
    [{ ...given, FILMGATE_ALARM_WEBHOOK_SECRET: 'hidden' }, /its value can't be used.*use whsec_ and what/],
    [{ FILMGATE_ALARM_SLACK: 'hidden' }, /FILMGATE_ALARM_SLACK: its value can't be used.*use a URL such as/],
    [{ FILMGATE_ALARM_QUEUE_AGE: 'long' }, /FILMGATE_ALARM_QUEUE_AGE: 'long' can't be used/],
  ] as const) {
    const mistakes = mistakesOf('', env)
    assert.equal(mistakes.length, 1)
    assert.match(mistakes.join('\n'), mistake)
    assert.ok(!mistakes.join('\n').includes('hidden'))
  }
})
