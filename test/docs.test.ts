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
  it('have every operation, and no link that leads nowhere', async () => {
    const reference = await page('/docs')
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document
    const operations = operationsOf(document)
    assert.ok(operations.size > 30)
    for (const [id, { operation }] of operations) {
      const { summary } = operation
      assert.ok(reference.includes(` id="${id}"`), id)
      assert.ok(reference.includes(summary.replaceAll("'", '&#39;')), summary)
    }
    for (const html of await everyPage()) {
      const ids = new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))
      for (const link of new Set(linksOf(html))) {
        if (link.startsWith('#')) assert.ok(ids.has(link.slice(1)), link)
        else assert.equal((await fetch(service.url + link)).status, 200, link)
      }
    }
  })

  it('list the codes of failed videos that docs/api.md lists, and no code that stays inside', async () => {
    const [table = '', failures = ''] = (await page('/docs')).split(' id="failures"')
    const listed = failures.slice(0, failures.indexOf('</table>')).matchAll(/<td><code>(\w+)<\/code>/g)
    const api = readFileSync(join(root, 'docs', 'api.md'), 'utf8')
    const said = /^A failed task has the reason in `error\.code`:([\s\S]*?)\n\n/m.exec(api)?.[1] ?? ''
    assert.deepEqual(
      [...listed].map(([, code]) => code).toSorted(),
      [...said.matchAll(/`(\w+)`/g)].map(([, code]) => code).toSorted(),
    )
    assert.ok(table.includes(' id="idempotency_key_reused"') && !table.includes(' id="idempotency_key_taken"'))
  })

  it('show the example of a response', async () => {
    const [, remix = ''] = (await page('/docs')).split(' id="remixVideo"')
    assert.match(remix.slice(0, remix.indexOf('</section>')), /&quot;remixed_from_video_id&quot;: &quot;video_/)
  })

  it('run nothing and fetch nothing, and say so to the browser', async () => {
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
    for (const host of ['a.example', 'b.example']) assert.equal(await asked(host, {}, '/docs'), `http://${host}`)
    assert.equal(await asked('[::1]:8484'), 'http://[::1]:8484')
    for (const host of ['a"><script>', "a';touch harmed;'", 'a b', 'a$(id)', 'a/b', 'user@host', '-o'])
      assert.equal(await asked(host), `http://127.0.0.1:${port}`, host)
  })

  it('say of a model what it takes', async () => {
    const html = await modelPage('acme/still')
    for (const told of ['acme/still', '256x256', 'Required', 'seed', 'caption', 'The same seed gives the same video'])
      assert.ok(html.includes(told), told)
    assert.match(await modelPage('sora-2'), /Alias of[\s\S]*href="\/docs\/models\/studio"/)
  })
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
