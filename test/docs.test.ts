import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import type { Document } from '../src/api/openapi/document.ts'
import { providers } from '../src/providers/index.ts'
import { operationsOf } from './document.ts'
import { startService, type TestService, token } from './service.ts'

/* The pages below /docs as a browser gets them: without a token. Their examples are run as they stand. */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'filmgate-docs-'))
/** A hostile model name of an engine. */
const evil = `x'; touch harmed; '<script>alert(1)</script>"\${process.exit(9)}/../\`é\u202e`
const bad = '<img src=x onerror=alert(1)> & "quoted" \u202e'
let service: TestService

before(async () => {
  const small = { seconds: { values: [1] }, size: { values: ['256x256'] } }
  const models = {
    studio: small,
    'acme/still': { account: 'studio', image: 'required', ...small },
  }
  const { studio } = providers
  const tiny = { seconds: { values: [1], default: 1 }, size: { values: ['256x256'], default: '256x256' } }
  assert.ok(studio)
  const cards = studio.cards.flatMap((card) => [card, { ...card, id: evil, description: bad, ...tiny }])
  const yaml = JSON.stringify({ models, aliases: { 'sora-2': 'studio' } })
  service = await startService({ yaml, members: { studio: { ...studio, cards } } })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(root, 'node_modules', 'openai-7.53'), join(folder, 'node_modules', 'openai'))
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

async function page(path: string): Promise<string> {
  const answer = await fetch(service.url + path)
  assert.equal(answer.status, 200, path)
  return answer.text()
}

const modelPage = (name: string) => page(`/docs/models/${encodeURIComponent(name)}`)

function linksOf(html: string): string[] {
  return [...html.matchAll(/ href="([^"]*)"/g)].map(([, link = '']) => link.replaceAll('&#39;', "'"))
}

const everyPage = () =>
  Promise.all([page('/docs'), page('/docs/models'), ...['studio', 'acme/still', 'sora-2', evil].map(modelPage)])

it('the address of the service leads a browser to the reference, and a client nowhere', async () => {
  const open = (accept: string) => fetch(service.url, { headers: { accept }, redirect: 'manual' })
  const browser = await open('text/html,application/xhtml+xml,*/*;q=0.8')
  assert.deepEqual([browser.status, browser.headers.get('location')], [302, '/docs'])
  for (const accept of ['*/*', 'application/json']) assert.equal((await open(accept)).status, 404)
})

describe('the pages', () => {
  it('have no link that leads nowhere', async () => {
    for (const html of await everyPage()) {
      const ids = new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))
      for (const link of new Set(linksOf(html))) {
        if (link.startsWith('#')) assert.ok(ids.has(link.slice(1)), link)
        else assert.equal((await fetch(service.url + link)).status, 200, link)
      }
    }
  })

  it('lead to the document, if there is no reference to read', async () => {
    const html = await page('/docs')
    for (const path of ['/openapi.json', '/docs/models', '/llms.txt']) assert.ok(html.includes(`href="${path}"`), path)
  })

  it('run nothing, fetch nothing but the sample, and say so to the browser', async () => {
    for (const path of ['/docs', '/docs/models', '/docs/models/studio', '/docs/models/nothing']) {
      const answer = await fetch(service.url + path)
      const html = await answer.text()
      const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
      const hash = createHash('sha256').update(style).digest('base64')
      const policy = answer.headers.get('content-security-policy') ?? ''
      assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy)
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      assert.match(answer.headers.get('content-type') ?? '', /^text\/html; charset=utf-8/)
      assert.doesNotMatch(html, /<script|<img|<link|<iframe|@import|url\(|<[^>]*\s(on\w+|style)=/i)
    }
  })

  it('have a sample video, which a browser reads as a whole or in parts', async () => {
    for (const name of ['studio', 'sora-2', 'acme/still']) {
      const html = await modelPage(name)
      assert.match(html, /<video src="\/docs\/sample\.mp4" [^>]*controls/, name)
      assert.equal(html.includes('generates its own pictures'), name === 'acme/still', name)
    }
    const policy = (await fetch(`${service.url}/docs/models/studio`)).headers.get('content-security-policy') ?? ''
    assert.match(policy, /; media-src 'self';/)
    const whole = await fetch(`${service.url}/docs/sample.mp4`)
    const bytes = Buffer.from(await whole.arrayBuffer())
    assert.deepEqual([whole.status, whole.headers.get('content-type')], [200, 'video/mp4'])
    assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
    assert.ok(bytes.length < 400_000, `${bytes.length} bytes`)
    const ranged = (range: string) => fetch(`${service.url}/docs/sample.mp4`, { headers: { range } })
    const part = await ranged('bytes=4-7')
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 4-7/${bytes.length}`])
    assert.equal(await part.text(), 'ftyp')
    const rest = await ranged(`bytes=${bytes.length - 3}-`)
    assert.deepEqual([rest.status, (await rest.arrayBuffer()).byteLength], [206, 3])
    assert.equal((await ranged(`bytes=${bytes.length}-`)).status, 200)
    const known = { 'if-none-match': whole.headers.get('etag') ?? '' }
    assert.equal((await fetch(`${service.url}/docs/sample.mp4`, { headers: known })).status, 304)
  })

  it("show a model's name and description as text, whatever is in them", async () => {
    for (const html of await everyPage()) assert.doesNotMatch(html, /<script|<img|\u202e/)
    const own = await modelPage(evil)
    assert.ok(own.includes('&lt;script&gt;alert(1)&lt;/script&gt;'))
    assert.ok(own.includes('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quoted&quot;'))
    const missing = await fetch(`${service.url}/docs/models/${encodeURIComponent('<script>alert(2)</script>')}`)
    assert.equal(missing.status, 404)
    assert.doesNotMatch(await missing.text(), /<script/)
  })

  it('show the address of the request, unless it is invalid', async () => {
    const port = new URL(service.url).port
    const asked = async (host: string, headers = {}, path = '/docs/models/studio') => {
      const sent = request({ port, path, headers: { host, ...headers }, setHost: false }).end()
      const [answer] = await new Promise<Parameters<typeof text>[]>((resolve, reject) =>
        sent.on('response', (response) => resolve([[response]])).on('error', reject),
      )
      return /curl (?:-fsS )?(\S*)\/v1\/videos\b/.exec(await text(...(answer as Parameters<typeof text>)))?.[1]
    }
    assert.equal(await asked('films.example:8443', { 'x-forwarded-proto': 'https' }), 'https://films.example:8443')
    assert.equal(await asked('[::1]:8484'), 'http://[::1]:8484')
    for (const host of ['a"><script>', "a';touch harmed;'", 'a b', 'a$(id)', 'a/b', 'user@host', '-o'])
      assert.equal(await asked(host), `http://127.0.0.1:${port}`, host)
    const firstIn = async (path: string) =>
      /FILMGATE_URL=([^\s\\]+)/.exec(await (await fetch(service.url + path)).text())?.[1]
    assert.equal(await firstIn('/llms.txt'), service.url)
    // Every client gets the same document.
    assert.equal(await firstIn('/openapi.json'), 'https://YOUR_ADDRESS')
  })

  it('say of a model what it takes', async () => {
    const html = await modelPage('acme/still')
    for (const told of ['acme/still', '256x256', 'Required', 'seed', 'caption', 'The same seed gives the same video'])
      assert.ok(html.includes(told), told)
    assert.match(await modelPage('sora-2'), /Alias of[\s\S]*href="\/docs\/models\/studio"/)
  })
})

it('the document lists the codes of failed videos that docs/api.md lists', async () => {
  const { info } = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document
  const listed = info.description.matchAll(/^\| `(\w+)` \|/gm)
  const api = readFileSync(join(root, 'docs', 'api.md'), 'utf8')
  const said = /^A failed task has the reason in `error\.code`:([\s\S]*?)\n\n/m.exec(api)?.[1] ?? ''
  assert.deepEqual(
    [...listed].map(([, code]) => code).toSorted(),
    [...said.matchAll(/`(\w+)`/g)].map(([, code]) => code).toSorted(),
  )
})

it('llms.txt has every route and model with a link, at the address of the request, and nothing of a name as markup', async () => {
  const answer = await fetch(`${service.url}/llms.txt`)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/)
  const summary = await answer.text()
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document
  const operations = operationsOf(document)
  assert.ok(operations.size > 30)
  for (const [id, { method, path: at, operation }] of operations)
    assert.ok(
      summary.includes(
        `- [${method} ${at}](${service.url}/docs#tag/${String(operation.tags[0]).toLowerCase()}/${id}): ${operation.summary}\n`,
      ),
      id,
    )
  assert.ok(summary.startsWith('# Filmgate\n\n> One Videos API in front of every video model\n'))
  const links = [...summary.matchAll(/\]\((\S+?)(#[\w/]+)?\)/g)].map(([, link = '']) => new URL(link, service.url).href)
  for (const link of new Set(links)) assert.equal((await fetch(link)).status, 200, link)
  assert.ok(summary.includes('\\<script\\>alert(1)') && !/[^\\]<script|\u202e/.test(summary))
})

/** As it comes out when it is copied from the page. */
function exampleOf(html: string, id: string): string {
  const code = new RegExp(`<pre[^>]* id="${id}"><code>([\\s\\S]*?)</code>`).exec(html)?.[1]
  assert.ok(code, `there is no ${id} example`)
  const signs: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`', amp: '&' }
  return code.replace(/&(#?\w+);/g, (_all, name: string) => signs[name] ?? '?')
}

async function savesVideo(command: string, args: string[]): Promise<void> {
  const env = { ...process.env, FILMGATE_TOKEN: token }
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [said, code] = await Promise.all([
    Promise.all([text(child.stdout), text(child.stderr)]),
    new Promise((resolve) => child.on('close', resolve)),
  ])
  assert.equal(code, 0, said.join('\n'))
  const path = join(folder, 'video.mp4')
  assert.ok(existsSync(path), 'video.mp4 was not saved')
  assert.equal(readFileSync(path).toString('latin1', 4, 8), 'ftyp')
  rmSync(path)
}

const python = [join(root, '.venv', 'bin', 'python'), 'python3'].find(
  (name) => spawnSync(name, ['-c', 'import openai']).status === 0,
)

for (const name of ['studio', 'acme/still', evil]) {
  describe(`the examples of ${JSON.stringify(name).slice(0, 30)}`, () => {
    it('curl makes a film, and does nothing else', async () => {
      await savesVideo('bash', ['-ec', exampleOf(await modelPage(name), 'curl')])
      assert.ok(!existsSync(join(folder, 'harmed')))
    })
    it('Node makes a film', async () => {
      writeFileSync(join(folder, 'example.mjs'), exampleOf(await modelPage(name), 'node'))
      await savesVideo(process.execPath, ['example.mjs'])
    })
    it('Python makes a film', async (test) => {
      if (!python)
        return test.skip('no Python with the openai package: python3 -m venv .venv && .venv/bin/pip install openai')
      writeFileSync(join(folder, 'example.py'), exampleOf(await modelPage(name), 'python'))
      await savesVideo(python, ['example.py'])
    })
  })
}
