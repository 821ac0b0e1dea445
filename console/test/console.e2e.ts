import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import type { OperatorSettings } from '../../src/wire/settings.ts'
import { operatorToken, token } from '../../test/service.ts'
import { testAlarms } from './alarms.ts'
import { testPlayground } from './playground.ts'
import { assertPlays, dist, openWorld, settings, type World } from './world.ts'

/* `npm run test:console`: the console in a real browser, on a real service. */

let world: World
let film: string

before(async () => {
  world = await openWorld({ yaml: JSON.stringify({ ...settings, outbound: { allow: ['127.0.0.1'] } }) })
  // Nothing listens there.
  const hook = { name: 'closed port', url: 'http://127.0.0.1:9/hook', event_types: ['video.completed'] }
  await world.service.fetch('/v1/webhook_endpoints', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(hook),
  })
  film = await world.createVideo('a red fox in snow at dusk')
})
after(() => world[Symbol.asyncDispose]())

const small = { model: 'studio', seconds: '1', size: '256x256' }
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

describe('signing in', () => {
  it('by the link, once; its code is nowhere afterwards', async () => {
    const link = await world.link()
    const { page, errors } = await world.open()
    await page.goto(link)
    await heading(page, 'Playground')
    assert.equal(page.url(), `${world.service.url}/`)
    const cookies = await page.context().cookies()
    assert.deepEqual(
      cookies.map(({ name, httpOnly, sameSite }) => ({ name: name.slice(0, -8), httpOnly, sameSite })),
      [{ name: 'filmgate_console_', httpOnly: true, sameSite: 'Strict' }],
    )
    assert.doesNotMatch(await page.evaluate('JSON.stringify(localStorage)'), /fg_|code|token/)
    assert.deepEqual(errors, [])
    const second = await world.open()
    await second.page.goto(link)
    await second.page.getByText('The link was already used, or has expired.').waitFor()
    assert.equal(second.page.url(), `${world.service.url}/`)
  })

  it('by a token, on the page that was wanted; a wrong one says why', async () => {
    const { page } = await world.open()
    await page.goto(`${world.service.url}/models/studio`)
    await page.getByLabel('Token').fill('nonsense')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('This service does not know the token.').waitFor()
    await page.getByLabel('Token').fill(token)
    await page.getByLabel('Token').press('Enter')
    await heading(page, 'studio')
    await page.getByRole('button', { name: 'Your account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await heading(page, 'Sign in to Filmgate')
    await page.reload()
    await heading(page, 'Sign in to Filmgate')
  })

  it('with a client token in addition to that of an operator, who creates videos with it from then on', async () => {
    const { secret } = await world.operate<{ secret: string }>('/tokens', { name: 'anna' })
    const { page, errors } = await world.openAsOperator('/tokens')
    const account = page.getByRole('button', { name: 'Your account' })
    const another = page.getByRole('menuitem', { name: 'Sign in with another token' })
    await account.click()
    await page.getByText('Creates videos as default').waitFor()
    await another.click()
    await heading(page, 'Sign in to Filmgate')
    await page.getByRole('button', { name: 'Go back' }).click()
    await heading(page, 'Tokens')
    await account.click()
    await another.click()
    await page.getByLabel('Token', { exact: true }).fill(secret)
    await page.getByLabel('Token', { exact: true }).press('Enter')
    await heading(page, 'Tokens')
    await account.click()
    await page.getByText('Creates videos as anna').waitFor()
    await page.getByRole('menu').getByText('Operator', { exact: true }).waitFor()
    assert.deepEqual(errors, [])
  })

  it('over plain HTTP from another machine, where the browser says less about its requests', async () => {
    const { page, errors } = await world.open()
    const url = world.service.url.replace('127.0.0.1', 'films.example')
    await page.goto(`${url}/videos/${film}`)
    await page.getByLabel('Token').fill(token)
    await page.getByLabel('Token').press('Enter')
    await heading(page, 'a red fox in snow at dusk')
    await assertPlays(page)
    await page.getByRole('link', { name: 'Videos' }).first().click()
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    assert.deepEqual(errors, [])
  })

  it('again when the token was revoked, and then on the same page', async () => {
    const { id, secret } = await world.operate<{ id: string; secret: string }>('/tokens', { name: 'brief' })
    const { page } = await world.openWith(secret, '/models')
    await heading(page, 'Models')
    const headers = { authorization: `Bearer ${operatorToken}` }
    await world.service.fetch(`/operator/v1/tokens/${id}/revoke`, { method: 'POST', headers })
    await page.getByRole('link', { name: 'Videos' }).click()
    await heading(page, 'Sign in to Filmgate')
    await page.getByLabel('Token').fill(token)
    await page.getByLabel('Token').press('Enter')
    await heading(page, 'Videos')
  })
})

it('a viewer sees everything, and no action', async () => {
  const viewer = { name: 'auditor', kind: 'operator', role: 'viewer' }
  const { secret } = await world.operate<{ secret: string }>('/tokens', viewer)
  const { page, errors } = await world.openWith(secret, `/videos/${film}`)
  await heading(page, 'a red fox in snow at dusk')
  assert.equal(await page.locator('.danger').count(), 0)
  await page.getByRole('link', { name: 'Models' }).click()
  await heading(page, 'Models')
  await page.getByRole('link', { name: 'studio', exact: true }).click()
  await page.getByRole('table', { name: 'Routes' }).waitFor()
  await page.getByRole('button', { name: 'Your account' }).click()
  await page.getByText('Operator, read only').waitFor()
  await page.goto(world.service.url)
  await heading(page, 'Overview')
  assert.deepEqual(errors, [])
})

describe('the playground', () => testPlayground(() => world))

describe('videos', () => {
  it('of a client appear by themselves, move on, and play', async () => {
    const { page, errors } = await world.openAsClient('/videos')
    const made = await world.service.submit({ model: 'studio', prompt: 'a whale', seconds: '2', size: '640x360' })
    const { id } = (await made.json()) as { id: string }
    const row = page.getByRole('row').filter({ hasText: 'a whale' })
    await row.getByText('Completed').waitFor()
    await row.getByRole('link', { name: 'a whale' }).click()
    await heading(page, 'a whale')
    assert.equal(page.url(), `${world.service.url}/videos/${id}`)
    await assertPlays(page)
    await page.getByRole('button', { name: 'Delete this video' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete this video' }).click()
    await heading(page, 'Videos')
    await row.waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
  })

  it('of all projects are shown to an operator, with the timeline, attempts and money of each', async () => {
    const { page, errors } = await world.openAsOperator(`/videos/${film}`)
    await heading(page, 'a red fox in snow at dusk')
    await assertPlays(page)
    const stages = page.locator('.timeline li')
    assert.match(
      (await stages.allTextContents()).join('|'),
      /^Queue.+\|Submit.+\|Generation.+\|Download and check.+\|Delivery to webhooks.+\|Total/,
    )
    const widths = await page
      .locator('.timeline rect')
      .evaluateAll((all) => all.map((one) => one.getAttribute('width')))
    assert.ok(Math.abs(widths.map(Number).reduce((a, b) => a + b) - 1_000) < 10, String(widths))
    await page.getByRole('table', { name: 'Attempts' }).getByText('accepted').waitFor()
    await page.getByRole('table', { name: 'Entries in the ledger' }).getByText('US$0.10').first().waitFor()
    // This session has the token that owns it.
    await page.getByRole('button', { name: 'Delete this video' }).waitFor()
    const { secret } = await world.operate<{ secret: string }>('/tokens', { name: 'someone else' })
    const made = await world.service.submit(
      { ...small, prompt: 'a foreign fox' },
      { authorization: `Bearer ${secret}` },
    )
    await page.goto(`${world.service.url}/videos/${((await made.json()) as { id: string }).id}`)
    await heading(page, 'a foreign fox')
    assert.equal(
      await page
        .locator('#page')
        .getByRole('button', { name: /video$/ })
        .count(),
      0,
    )
    assert.deepEqual(errors, [])
  })

  it('are filtered by the address', async () => {
    const { page, errors } = await world.openAsOperator('/videos?status=failed')
    await page.getByText('No videos match these filters').waitFor()
    await page.getByLabel('Status').selectOption('completed')
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    await page.waitForURL(/\/videos\?status=completed$/)
    await page.getByLabel('Prompt contains').fill('no such animal')
    await page.getByLabel('Prompt contains').press('Enter')
    await page.getByText('No videos match these filters').waitFor()
    await page.getByRole('link', { name: 'Show all videos' }).click()
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    await page.getByLabel('Created until').fill('2026-01-02')
    await page.getByLabel('Created until').press('Enter')
    await page.waitForURL(/\/videos\?until=2026-01-02$/)
    await page.getByText('No videos match these filters').waitFor()
    assert.deepEqual(errors, [])
  })

  it('are on pages, whose addresses show the same rows again', async () => {
    await Promise.all(Array.from({ length: 26 }, (_, at) => world.service.submit({ ...small, prompt: `number ${at}` })))
    const { page, errors } = await world.openAsOperator('/videos?text=number')
    const rows = page.locator('tbody tr')
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.waitForURL(/after=video_/)
    await page.getByRole('button', { name: 'First page' }).and(page.locator(':enabled')).waitFor()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    const last = await rows.getByRole('link', { name: /^number/ }).textContent()
    await page.reload()
    await page.getByRole('link', { name: last ?? '' }).waitFor()
    assert.equal(await rows.count(), 1)
    await page.goBack()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 25)
    assert.deepEqual(errors, [])
  })

  it('that do not exist are not found', async () => {
    const { page } = await world.openAsOperator(`/videos/video_${'0'.repeat(48)}`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })
})

it('a chart of a single day shows its values', async () => {
  const { page, errors } = await world.openAsClient('/models/studio')
  const canvas = page.locator('.chart canvas')
  await canvas.waitFor()
  // Pixels of the two series, in the colours of the legend.
  const drawn = await canvas.evaluate((element: HTMLCanvasElement) => {
    const { data } = element.getContext('2d')?.getImageData(0, 0, element.width, element.height) ?? { data: [] }
    const pixels = Array.from({ length: data.length / 4 }, (_, at) => data.slice(at * 4, at * 4 + 3).join())
    const markers = Array.from(document.querySelectorAll<HTMLElement>('.u-legend .u-marker')).slice(-2)
    return markers.map((marker) => {
      const colour = getComputedStyle(marker).borderTopColor.match(/\d+/g)?.join()
      return pixels.filter((pixel) => pixel === colour).length
    })
  })
  assert.ok(drawn.length === 2 && drawn.every((count) => count > 40), String(drawn))
  assert.deepEqual(errors, [])
})

it('models are listed with what each accepts, and have a page each', async () => {
  const { page, errors } = await world.openAsClient('/models')
  await heading(page, 'Models')
  const row = page.getByRole('row').filter({ hasText: 'Built-in' })
  assert.match((await row.first().textContent()) ?? '', /studio.*1–20 s/)
  await page.getByText('Alias of studio').waitFor()
  await page.getByRole('link', { name: 'studio', exact: true }).click()
  await heading(page, 'studio')
  assert.equal(await page.title(), 'studio · Filmgate')
  await page.locator('.chart canvas').waitFor()
  await page.getByRole('table', { name: 'Model parameters' }).waitFor()
  await assertPlays(page)
  assert.deepEqual(errors, [])
})

describe('alarms', () => testAlarms(() => world))

it('the audit log shows what was changed, on pages, and is exported as a whole', async () => {
  for (let at = 0; at < 26; at += 1)
    await world.operate('/tokens', { name: `audited ${at}`, metadata: { note: '=1+1, "quoted"' } })
  const { page, errors } = await world.openAsOperator('/audit')
  await heading(page, 'Audit log')
  const row = page.getByRole('row').filter({ hasText: 'audited 25' })
  await row.getByText('token.create').waitFor()
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.waitForURL(/\/audit\?after=\d+$/)
  await page.getByText('audited 0"').first().waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Export as CSV' }).click()
  const saved = await download
  assert.match(saved.suggestedFilename(), /^filmgate-audit-\d{4}-\d\d-\d\d\.csv$/)
  const text = readFileSync(await saved.path(), 'utf8')
  assert.match(text, /^id,at,actor,actor_name,address,action,target,before,after\r\n/)
  for (const at of [0, 25]) assert.ok(text.includes(`audited ${at}`), `${at}`)
  assert.deepEqual(errors, [])
})

it('the overview shows the whole service, over a range that is in its address', async () => {
  const { page, errors } = await world.openAsOperator('/overview')
  await heading(page, 'Overview')
  await page.getByRole('img', { name: 'Ended videos' }).locator('canvas').waitFor()
  await page.getByRole('img', { name: 'Cost and revenue' }).locator('canvas').waitFor()
  await page.getByRole('table', { name: 'By model' }).getByText('studio').waitFor()
  await page.getByRole('table', { name: 'Accounts' }).getByText('studio').first().waitFor()
  const tile = page.locator('.tiles > div').filter({ hasText: 'Success rate' })
  assert.match((await tile.textContent()) ?? '', /\d%/)
  await page.locator('.expiry').waitFor()
  // Every video of this test expires after the usual 24 hours.
  assert.ok((await page.locator('.expiry rect').count()) >= 24)
  await page.getByLabel('Range').selectOption('30d')
  await page.waitForURL(/\/overview\?range=30d$/)
  await page.getByRole('img', { name: 'Ended videos' }).locator('canvas').waitFor()
  assert.deepEqual(errors, [])
})

it('settings say where each value comes from, and what a restart would change', async () => {
  const { page, errors } = await world.openAsOperator('/settings')
  await heading(page, 'Settings')
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
  await row('aliases.sora-2').getByText('studio').waitFor()
  await row('operator-token').getByText('Secret, not shown').waitFor()
  await page.getByText('A restart would change nothing.').waitFor()
  assert.ok(!(await page.locator('main').textContent())?.includes(operatorToken))
  const { data } = await world.service.operator<OperatorSettings>('/settings')
  const file = data.find(({ name }) => name === 'config')?.value ?? ''
  const written = readFileSync(file, 'utf8')
  try {
    writeFileSync(file, JSON.stringify({ ...JSON.parse(written), aliases: { 'sora-2': 'nothing' } }))
    await page.reload()
    await page.getByText('The service would not start.').waitFor()
    writeFileSync(file, JSON.stringify({ ...JSON.parse(written), aliases: { ...settings.aliases, quick: 'studio' } }))
    await page.reload()
    await page.getByRole('link', { name: 'Show them' }).click()
    await page.waitForURL(/\/settings\?show=changed$/)
    await row('aliases.quick').getByText('Added:').waitFor()
    assert.equal(await page.locator('tbody tr').count(), 1)
  } finally {
    writeFileSync(file, written)
  }
  assert.deepEqual(errors, [])
})

it('a long prompt is cut in its heading and in the tab, and shown as a whole on demand', async () => {
  const prompt = `${'a very long prompt with many words '.repeat(44)}and its end`
  const id = await world.createVideo(prompt)
  const { page, errors } = await world.openAsClient(`/videos/${id}`, { viewport: { width: 390, height: 844 } })
  const title = page.getByRole('heading', { level: 1 })
  await title.waitFor()
  const heightOf = async () => (await title.boundingBox())?.height ?? 0
  assert.ok((await heightOf()) < 120, `${await heightOf()} px`)
  assert.match(await page.title(), /^a very long .{1,60}… · Filmgate$/)
  await page.getByRole('button', { name: 'Show all of it' }).click()
  assert.ok((await heightOf()) > 500)
  await page.getByRole('button', { name: 'Show less' }).click()
  assert.ok((await heightOf()) < 120)
  assert.deepEqual(errors, [])
})

it('speaks Chinese, and remembers it', async () => {
  const { page, errors } = await world.openAsOperator()
  await page.getByRole('button', { name: 'Your account' }).click()
  await page.getByRole('menuitemradio', { name: '简体中文' }).click()
  await heading(page, '试验场')
  await page.reload()
  await heading(page, '试验场')
  assert.equal(await page.locator('html').getAttribute('lang'), 'zh-Hans')
  assert.deepEqual(errors, [])
})

it('ignores a remembered language or theme that does not exist', async () => {
  const { page, errors } = await world.openAsOperator()
  await page.evaluate(`localStorage.setItem('filmgate', '{"language":"xx","theme":"none"}')`)
  await page.reload()
  await heading(page, 'Playground')
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'system')
  assert.deepEqual(errors, [])
})

it('says that the service does not respond, and goes on by itself', async () => {
  const { page } = await world.openAsOperator('/videos')
  await heading(page, 'Videos')
  await page.context().setOffline(true)
  await page.getByText('The service does not respond. Trying again…').waitFor()
  await page.context().setOffline(false)
  await page.getByText('The service does not respond.').waitFor({ state: 'detached' })
  await page.locator('tbody tr').first().waitFor()
})

it('the first page needs at most 250 KB of scripts, compressed', async (t) => {
  const { page } = await world.open()
  const scripts = new Set<string>()
  page.on('request', (request) => request.resourceType() === 'script' && scripts.add(new URL(request.url()).pathname))
  await page.goto(await world.link())
  await page.locator('.quotes .number').first().waitFor()
  const bytes = [...scripts].map((path) => statSync(join(dist, `${path}.gz`)).size).reduce((a, b) => a + b)
  t.diagnostic(`${bytes} bytes in ${scripts.size} files`)
  assert.ok(bytes > 50_000 && bytes <= 250_000, `${bytes} bytes`)
})
