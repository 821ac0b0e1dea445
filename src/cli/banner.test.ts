import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Config } from '../config.ts'
import type { Token } from '../core/token.ts'
import type { Service } from '../main.ts'
import { banner } from './banner.ts'

const secret = `fg_${'x'.repeat(40)}`

interface Case {
  url?: string
  firstSecret?: string | null
  /** Of the client tokens. */
  names?: string[]
  models?: string[]
  setBy?: Parameters<typeof banner>[2]['setBy']
  operator?: 'set' | 'made'
  role?: Config['role']
  docs?: boolean
  readOnly?: Service['readOnly']
  webConsole?: 'built' | 'not built' | 'off'
  isTerminal?: boolean
}

/** As long as a code is. */
const code = 'c'.repeat(31)

function shown({
  url = 'http://127.0.0.1:8484',
  firstSecret = null,
  names = [],
  models = ['studio'],
  setBy = null,
  operator = 'set',
  role = 'all',
  docs = true,
  readOnly = null,
  webConsole = 'built',
  isTerminal = true,
}: Case) {
  const token = (name: string, kind: Token['kind']): Token => ({ kind, name, digest: '', models: ['*'] })
  const operators = operator === 'set' ? [token('operator', 'operator')] : []
  const tokens = [...names.map((name) => token(name, 'client')), ...operators]
  const catalog = { entries: new Map(models.map((name) => [name, null])), defaultModel: undefined }
  const page = webConsole === 'off' ? null : { isBuilt: webConsole === 'built', createCode: () => code }
  const service = { url, firstSecret, operatorSecret: firstSecret, readOnly, webConsole: page } as Service
  const config = { data: '/data', tokens, catalog, role, docs } as unknown as Config
  return banner(service, config, {
    program: 'npx filmgate',
    setBy,
    operatorSetBy: 'FILMGATE_OPERATOR_TOKEN',
    isTerminal,
  })
}

it('fits into 80 columns, however many models and tokens there are', () => {
  const many = (word: string) => Array.from({ length: 30 }, (_, at) => `${word}-${at}`)
  const cases: Case[] = [
    { firstSecret: secret },
    { names: many('team'), models: many('model'), url: 'http://192.168.100.200:65535' },
    { names: ['x'.repeat(100)], models: ['studio'] },
    { operator: 'made' },
    { role: 'worker', models: many('model'), url: 'http://192.168.100.200:65535' },
    {},
    { url: 'http://192.168.100.200:65535' },
    { url: 'http://192.168.100.200:65535', isTerminal: false },
    ...(['full', 'read_only', 'unavailable'] as const).map((readOnly) => ({ readOnly })),
  ]
  for (const one of cases) for (const line of shown(one).split('\n')) assert.ok(line.length <= 80, line)
  assert.match(shown({ models: many('model') }), /Models +model-0, model-1, .+ and \d+ more\n/)
})

it('says where the token comes from, and shows no variable that is not set', () => {
  assert.match(shown({ firstSecret: secret }), /Bearer fg_x+"[\s\S]+export FILMGATE_TOKEN=fg_x+\n/)
  const own = shown({ names: ['default'], setBy: 'FILMGATE_TOKEN' })
  assert.match(own, /Token +set as FILMGATE_TOKEN\n[\s\S]+Bearer \$FILMGATE_TOKEN"/)
  for (const names of [['default'], ['team-a', 'team-b'], []]) {
    const text = shown({ names })
    assert.ok(!text.includes('$FILMGATE_TOKEN'))
    assert.match(text, /Bearer <token>"[\s\S]+export FILMGATE_TOKEN='<token>'\n/)
    assert.match(
      text,
      names.length > 0 ? /Token +configured: (default|team-a, team-b)\n/ : /Token +printed at the first start/,
    )
  }
})

it('shows the base URL only if it is not the default of the command line', () => {
  assert.doesNotMatch(shown({}), /FILMGATE_BASE_URL/)
  assert.match(shown({ url: 'http://127.0.0.1:1' }), /export FILMGATE_BASE_URL=http:\/\/127\.0\.0\.1:1\/v1\n/)
})

it('shows the address of the reference, if it is on', () => {
  assert.match(shown({}), /Docs +http:\/\/127\.0\.0\.1:8484\/docs\n/)
  assert.doesNotMatch(shown({ docs: false }), /Docs/)
})

it('links to the console with a code, except where a log may keep it', () => {
  const link =
    /Console +http:\/\/127\.0\.0\.1:8484\/#code=c{31}\n +\(this link signs you in once, within 10 minutes\)\n/
  assert.match(shown({}), link)
  // The first start shows the tokens themselves.
  assert.match(shown({ firstSecret: secret, isTerminal: false }), link)
  const logged = shown({ isTerminal: false })
  assert.match(logged, /Console +http:\/\/127\.0\.0\.1:8484 {2}\(sign in: npx filmgate console\)\n/)
  assert.doesNotMatch(logged, /code=/)
  assert.match(shown({ webConsole: 'not built' }), /Console +not built: npm run build:console, then start again\n/)
  assert.doesNotMatch(shown({ webConsole: 'off' }), /Console/)
})

it("says at every start where the operator's token is from", () => {
  assert.match(shown({ firstSecret: secret }), /Operator +fg_x+ {2}\(shown once: keep it\)\n/)
  assert.match(shown({}), /Operator +set as FILMGATE_OPERATOR_TOKEN\n/)
  const later = shown({ operator: 'made' })
  assert.match(later, /Operator +printed at the first start \(lost it\? set FILMGATE_OPERATOR_TOKEN\)\n/)
})

it('the banner of a worker does not ask for requests', () => {
  const text = shown({ role: 'worker' })
  assert.match(text, /is ready\.\n\n {2}Role +worker: runs tasks; send requests to a process with role api\n/)
  assert.match(text, /Health +http:\/\/127\.0\.0\.1:8484\/readyz\n/)
  assert.doesNotMatch(text, /curl|generate|Base URL|Token/)
  assert.match(shown({ role: 'api' }), /Base URL/)
})

it('says that the service is read-only, why, and what to do, and shows no first steps', () => {
  for (const role of ['all', 'worker'] as const) {
    const text = shown({ readOnly: 'full', role })
    assert.match(text, /is running, read-only\.\n\n {2}Read-only +the disk of the database is full: free some space/)
    assert.doesNotMatch(text, /is ready|curl|generate/)
  }
})
