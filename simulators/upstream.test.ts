import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { markFilm, withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { exchange, partsOf, pictureOf, requestOf } from './upstream/wire.fixture.ts'
import { downloadFaults, findFaults, pollFaults, startUpstream, submitFaults, type Upstream } from './upstream.ts'

/* Every fault as bytes on the wire, with the ledger beside it. */

const times = { refuseMs: 200, lateMs: 200, unknownMs: 500, dripMs: 1, speed: 0 }
let upstream: Upstream
before(async () => {
  upstream = await startUpstream({ mode: 'lookup', ...times })
})
after(() => upstream[Symbol.asyncDispose]())

const authorization = 'Bearer key-1'
function submitOf(prompt: string): string {
  const body = { model: 'm', prompt, seconds: 1, size: '64x36', reference: `ref ${prompt}` }
  return requestOf('POST /jobs', { authorization }, JSON.stringify(body))
}
const acceptsOf = (prompt: string) => upstream.ledger().accepts.filter((accept) => accept.prompt === prompt)

async function newJob(prompt: string): Promise<string> {
  await exchange(upstream.port, submitOf(prompt))
  return acceptsOf(prompt)[0]?.id ?? assert.fail('not accepted')
}

const json = '200 application/json'
/** How each fault looks, for every kind of request. A plain status needs no line. */
const pictures: Record<string, RegExp> = {
  'refuse-connection': /^refused$/,
  'hang-unread': /^silent$/,
  hang: /^silent$/,
  close: /^closed$/,
  reset: /^reset$/,
  noise: /^SSH-2\.0-\S+\r\n closed$/,
  redirect: /^307 application\/json \/jobs whole/,
  '204': /^204 application\/json unmeasured closed$/,
  '401-cut': /^401 application\/json less closed \{"/,
  '429-huge': /^429 application\/json whole closed/,
  '429-seconds': /^429 application\/json 1 whole/,
  '429-date': /^429 application\/json \w{3}, \d\d .* GMT whole/,
  '429-past': /^429 application\/json \w{3}, \d\d .* GMT whole/,
  '429-absurd': /^429 application\/json 99999999999 whole/,
  '429-negative': /^429 application\/json -1 whole/,
  '429-words': /^429 application\/json soon whole/,
  'no-id': exactly(`${json} whole closed {"state":"ok"}`),
  'id-number': exactly(`${json} whole closed {"id":7}`),
  'id-in-proto': /whole closed \{"__proto__":\{"id":"job_[-0-9a-f]{36}"\}\}$/,
  unknown: /whole closed \{"id":"job_0{8}-0{4}-0{4}-0{4}-0{12}"\}$/,
  garbage: /^200 application\/json whole closed .\}\{/s,
  html: /^200 text\/html whole closed <!doctype html>/,
  empty: exactly(`${json} whole closed`),
  null: exactly(`${json} whole closed null`),
  list: exactly(`${json} whole closed []`),
  truncated: /^200 application\/json whole closed \{"[^}]*$/,
  deep: /^200 application\/json whole closed \{"/,
  huge: /^200 application\/json whole closed \{"/,
  endless: /^200 application\/json unmeasured endless [0-9a-f]+\r\n\{"/,
  drip: /^200 application\/json whole in drops closed \{"/,
  'hang-in-body': /^200 application\/json less silent \{"/,
  'length-too-long': /^200 application\/json less closed \{"/,
  'length-too-short': /^200 application\/json more closed \{"/,
  'hang-then-late': /^silent$/,
  'reset-then-late': /^reset$/,
  'status-throttled': /"status":"THROTTLED"/,
  'status-succeed': /"status":"SUCCEED"/,
  'status-expired': /"status":"expired"/,
  'status-blank': /"status":""/,
  'status-number': /"status":3/,
  'status-missing': /\{"id":"[^"]+","progress":100\}$/,
  'progress-101': /"progress":101\}$/,
  'progress-minus-1': /"progress":-1\}$/,
  'progress-string': /"progress":"50%"\}$/,
  'progress-null': /"progress":null\}$/,
  'progress-nan': /"progress":NaN\}$/,
  back: /"status":"waiting","progress":0\}$/,
  policy: /"status":"failed","progress":100,"error":"policy"\}$/,
  'done-without-url': /"status":"done","progress":100\}$/,
  'done-url-number': /"status":"done","url":7\}$/,
  failed: /"status":"failed"/,
  '404-for-a-while': /^404 application\/json whole closed \{"error":"unknown job"\}$/,
  'no-jobs': exactly(`${json} whole closed {}`),
  nothing: exactly(`${json} whole closed {"jobs":[]}`),
  'download-truncated': /^200 video\/mp4 whole closed .{4}ftyp/s,
  'download-length-too-long': /^200 video\/mp4 less closed .{4}ftyp/s,
  'download-length-too-short': /^200 video\/mp4 more closed .{4}ftyp/s,
  'download-cut': /^200 video\/mp4 less closed .{4}ftyp/s,
  'download-cut-chunks': /^200 video\/mp4 unmeasured closed [0-9a-f]+\r\n.{4}ftyp/s,
  'download-reset-in-body': /^200 video\/mp4 less reset .{4}ftyp/s,
  'download-hang-in-body': /^200 video\/mp4 less silent .{4}ftyp/s,
  'download-drip': /^200 video\/mp4 whole in drops closed .{4}ftyp/s,
  'download-endless': /^200 video\/mp4 unmeasured endless [0-9a-f]+\r\n.{4}ftyp/s,
  'download-empty': exactly('200 video/mp4 whole closed'),
  'download-html': /^200 video\/mp4 whole closed <!doctype html>/,
  'download-json': exactly(`${json} whole closed {"error":"gone"}`),
  'download-damaged': /^200 video\/mp4 whole closed .{4}ftyp/s,
  'download-gzip': /^200 video\/mp4 gzip whole closed ./s,
  'download-redirect-to-itself': /^302 application\/json \/files\/\S+\.mp4 whole/,
  'download-ignores-range': /^200 video\/mp4 whole closed .{4}ftyp/s,
}

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[[\]{}]/g, '\\$&')}$`)
}

function expected(name: string): RegExp {
  const shape = name.replace(/^[a-z]+-(200-)?/, '').replace(/-((before|after)-)?accept$/, '')
  const picture = pictures[name] ?? pictures[shape]
  if (picture) return picture
  assert.match(shape, /^\d{3}$/, `${name} needs a picture`)
  return new RegExp(`^${shape} (application/json|text/html) whole closed`)
}

describe('submit faults', () => {
  for (const { name, accepted, refuses } of submitFaults)
    it(name, async () => {
      const prompt = `a ${name}`
      const { requests, submits } = upstream.ledger()
      upstream.setFaults({ next: [name] })
      const answer = await exchange(upstream.port, submitOf(prompt))
      assert.match(pictureOf(answer), expected(name))
      const ledger = upstream.ledger()
      assert.equal(ledger.faults.at(-1)?.fault, name)
      const arrived = refuses ? 0 : 1
      assert.deepEqual([ledger.requests - requests, ledger.submits - submits], [arrived, arrived])
      if (name === 'submit-reset-then-late-accept') assert.equal(acceptsOf(prompt).length, 0, 'not yet')
      await sleep(accepted === 'maybe' || refuses ? times.lateMs + 50 : 0)
      assert.equal(acceptsOf(prompt).length, accepted === false ? 0 : 1)
      const ending = { true: '-after-accept', false: '-before-accept', maybe: '-late-accept' }[`${accepted}`]
      assert.ok(name.endsWith(ending))
    })
})

describe('poll faults', () => {
  for (const { name } of pollFaults)
    it(name, async () => {
      const id = await newJob(`a ${name}`)
      await assertSpoils(name, requestOf(`GET /jobs/${id}`, { authorization }))
      if (name !== 'poll-failed' && name !== 'poll-404-for-a-while') return
      // This fault lasts longer than one answer.
      const again = pictureOf(await exchange(upstream.port, requestOf(`GET /jobs/${id}`, { authorization })))
      assert.match(again, expected(name))
    })
})

describe('find faults', () => {
  for (const { name } of findFaults)
    it(name, async () => {
      await newJob(`a ${name}`)
      await assertSpoils(name, requestOf(`GET /jobs?reference=ref+a+${name}`, { authorization }))
    })
})

describe('download faults', () => {
  for (const { name } of downloadFaults)
    it(name, async () => {
      const id = await newJob(`a ${name}`)
      await assertSpoils(name, requestOf(`GET /files/${id}.mp4`, { range: 'bytes=10-19' }))
      const whole = partsOf((await exchange(upstream.port, requestOf(`GET /files/${id}.mp4`))).bytes)
      assert.equal(whole.status, '200', 'a fault is one answer')
    })
})

async function assertSpoils(name: string, request: string): Promise<void> {
  const { accepts } = upstream.ledger()
  upstream.setFaults({ next: [name] })
  assert.match(pictureOf(await exchange(upstream.port, request)), expected(name))
  const ledger = upstream.ledger()
  assert.equal(ledger.faults.at(-1)?.fault, name)
  assert.equal(ledger.accepts.length, accepts.length)
}

it('bodies are as their faults describe them', async () => {
  const bodyAfter = async (name: string, request: (id: string) => string) => {
    const id = await newJob(`the body of ${name}`)
    upstream.setFaults({ next: [name] })
    return partsOf((await exchange(upstream.port, request(id))).bytes)
  }
  const lengthFor = (name: string) => {
    const [accept] = acceptsOf(`the body of ${name}`)
    return accept ? markFilm(tinyFilm, accept).length : assert.fail('not accepted')
  }
  const file = (id: string) => requestOf(`GET /files/${id}.mp4`)
  const job = (id: string) => requestOf(`GET /jobs/${id}`, { authorization })
  assert.equal(
    (await bodyAfter('download-truncated', file)).body.length,
    Math.floor(lengthFor('download-truncated') / 2),
  )
  const { body: damaged } = await bodyAfter('download-damaged', file)
  assert.deepEqual([damaged.length, damaged.at(-1), tinyFilm.at(-1) === 0], [lengthFor('download-damaged'), 0, false])
  assert.deepEqual(withoutMark(gunzipSync((await bodyAfter('download-gzip', file)).body)), tinyFilm)
  assert.ok((await bodyAfter('poll-huge', job)).body.length > 2 ** 20)
  const { body: deep } = await bodyAfter('poll-deep', job)
  assert.ok(deep.toString().endsWith(`${'['.repeat(100_000)}${']'.repeat(100_000)}}`))
  for (const [when, sign] of [
    ['date', 1],
    ['past', -1],
  ] as const) {
    const { header } = await bodyAfter(`submit-429-${when}-before-accept`, () => submitOf(when))
    assert.equal(Math.sign(Date.parse(header('retry-after') ?? '') - Date.now()), sign)
  }
})

it('every fault has its own name, and every picture a fault', () => {
  const names = [...submitFaults, ...pollFaults, ...findFaults, ...downloadFaults].map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  const unused = Object.keys(pictures).filter((shape) => !names.some((name) => expected(name) === pictures[shape]))
  assert.deepEqual(unused, [])
})
