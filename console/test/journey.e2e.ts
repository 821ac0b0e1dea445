import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import { spawnServer } from '../../test/process.ts'
import { startScripted } from '../../test/scripted-upstream.ts'
import { until } from '../../test/service.ts'
import { assertPlays, buildConsole, openBrowser, openPage, settings } from './world.ts'

/* What somebody does on the first day, from the first start to a revoked token, with the real program. */

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

it('the first day: start, sign in, create, compare, share with a budget, and decide about a lost response', async (t) => {
  buildConsole()
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-journey-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const config = join(folder, 'filmgate.yaml')
  // An engine that is added later may have models without a price.
  writeFileSync(config, JSON.stringify({ ...settings, prices: { ...settings.prices, unpriced: 'free' } }))
  const upstream = stack.use(await startScripted())
  const browser = await openBrowser()
  stack.defer(() => browser.close())
  const env = { FILMGATE_DATA: join(folder, 'data'), FILMGATE_CONFIG: config, FILMGATE_DISK_RESERVE: '0' }

  const begin = Date.now()
  const server = stack.use(spawnServer({ env }))
  const url = await server.url
  const { page, errors } = await openPage(browser)
  const refused: string[] = []
  await page.exposeFunction('refuse', (text: string) => refused.push(text))
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (one) => refuse(one.violatedDirective + ' ' + one.blockedURI))",
  )

  // The link of the banner, and the first video.
  await page.goto(await until('the link is printed', () => /(http\S+#code=\S+)/.exec(server.output.stdout)?.[1]))
  await heading(page, 'Playground')
  await page.getByLabel('Prompt', { exact: true }).fill('a red fox in snow at dusk')
  await button(page, 'Create the video').click()
  const shot = page.getByRole('article', { name: 'studio' })
  await shot.getByText('Completed').waitFor({ timeout: 60_000 })
  await assertPlays(page)
  const took = Date.now() - begin
  t.diagnostic(`the first video played ${took} ms after the start of the service`)
  assert.ok(took < 60_000, `the first video played after ${took} ms`)

  // Its timeline.
  await shot.getByRole('link', { name: 'Timeline and details' }).click()
  await heading(page, 'a red fox in snow at dusk')
  await page.locator('.timeline li').filter({ hasText: 'Generation' }).waitFor()
  await page.getByRole('table', { name: 'Entries in the ledger' }).getByText('US$0.20').first().waitFor()

  // Two models, side by side.
  await page.getByRole('link', { name: 'Playground' }).click()
  await button(page, 'Compare with another model').click()
  await page.getByLabel('Model 2').selectOption('sora-2')
  await page.getByLabel('Prompt', { exact: true }).fill('a kite')
  await page.getByLabel('Length').selectOption('2')
  await page.getByLabel('Size').selectOption('640x360')
  await button(page, 'Create 2 videos').click()
  for (const name of ['studio', 'sora-2'])
    await page.getByRole('article', { name, exact: true }).getByText('Completed').waitFor()
  await button(page, 'Play all').click()
  await page.waitForFunction(() =>
    [...document.querySelectorAll<HTMLVideoElement>('.shot video')].every((one) => one.currentTime > 0.3),
  )

  // A token for a colleague, for one video.
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByRole('link', { name: 'Create a token' }).click()
  await page.getByLabel('Name', { exact: true }).fill('anna')
  await page.getByLabel('Models').fill('studio')
  await page.getByLabel('Monthly budget').fill('0.2')
  await button(page, 'Create a token').click()
  const code = (await page.locator('.secret pre').first().textContent()) ?? ''
  const run = () => JSON.parse(execFileSync('bash', ['-c', code.replace(/^curl /, 'curl -sS ')], { encoding: 'utf8' }))
  assert.equal(run().status, 'queued')
  assert.equal(run().error.code, 'insufficient_quota')
  await page.getByRole('link', { name: 'Go to the token' }).click()
  await page.getByText('The monthly budget is spent.').waitFor()
  await page.getByText('US$0.20 of US$0.20').waitFor()
  await button(page, 'Revoke').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.locator('.head .status').getByText('Revoked').waitFor()
  assert.equal(run().error.code, 'invalid_api_key')

  // A provider whose response to a submit is lost: the attempt is held, until the operator adopts its job.
  await page.getByRole('link', { name: 'Providers' }).click()
  await button(page, 'Add an account').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Provider', { exact: true }).selectOption('openai')
  await dialog.getByLabel('Name', { exact: true }).fill('engine')
  await dialog.getByLabel('Key', { exact: true }).fill('the key of an engine')
  await dialog.getByLabel('Address', { exact: true }).fill(upstream.url)
  await dialog.getByRole('button', { name: 'Add an account' }).click()
  await heading(page, 'engine')
  await page
    .getByRole('table', { name: 'Models of this account' })
    .getByRole('link', { name: 'film', exact: true })
    .waitFor()
  upstream.onSubmit = (response) => void response.destroy()
  await page.goto(`${url}/?model=${encodeURIComponent('["film"]')}`)
  await page.getByLabel('Prompt', { exact: true }).fill('a lost fox')
  await button(page, 'Create the video').click()
  await page.getByRole('article', { name: 'film' }).waitFor()
  await page.getByRole('link', { name: 'Money at risk' }).click()
  const held = page.getByRole('row').filter({ hasText: 'a lost fox' })
  await held.getByRole('button', { name: 'Adopt' }).click()
  await dialog.getByLabel('Job at the provider').fill('video_1')
  // A worker may be looking at the task at this moment: then the reason is shown, and the button works again.
  await until('it is adopted', async () => {
    if ((await dialog.count()) === 0) return true
    await dialog
      .getByRole('button', { name: 'Adopt' })
      .click({ timeout: 2_000 })
      .catch(() => {})
    return false
  })
  await held.waitFor({ state: 'detached' })
  // A list that is filtered is read again every minute only.
  await page.goto(`${url}/videos`)
  await page.getByRole('row').filter({ hasText: 'a lost fox' }).getByText('Completed').waitFor()
  await page.goto(`${url}/videos?text=lost&status=completed`)
  await page.getByRole('link', { name: 'a lost fox' }).waitFor()

  // The same in Chinese, dark, on a phone.
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('button', { name: 'Your account' }).click()
  await page.getByRole('menuitemradio', { name: '简体中文' }).click()
  await heading(page, '视频')
  await page.getByRole('link', { name: 'a lost fox' }).waitFor()
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  assert.deepEqual(refused, [])
  // The browser reports a decision that was refused for a moment.
  assert.deepEqual(
    errors.filter((text) => !text.endsWith('/adopt')),
    [],
  )
})
