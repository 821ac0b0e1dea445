import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Page } from 'playwright-core'
import { token } from '../../test/service.ts'
import { openWorld, settings, type World } from './world.ts'

/* The reference of the API at `/docs`, in a real browser. */

let world: World

before(async () => {
  world = await openWorld({ yaml: JSON.stringify(settings) })
})
after(() => world[Symbol.asyncDispose]())

/** The page, which loads nothing from elsewhere and breaks no rule of its policy. */
async function openDocs(page: Page, hash = '') {
  const [foreign, refused]: string[][] = [[], []]
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(world.service.url) && !url.startsWith('blob:')) foreign?.push(url)
  })
  await page.exposeFunction('refuse', (text: string) => refused?.push(text))
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (one) => refuse(one.violatedDirective + ' ' + one.blockedURI))",
  )
  await page.goto(`${world.service.url}/docs${hash}`)
  await page.getByRole('heading', { level: 1, name: 'Filmgate' }).waitFor()
  return { foreign, refused }
}

it('is searched, has samples in several languages, and sends no request to another host', async () => {
  const { page, errors } = await world.open()
  const seen = await openDocs(page)
  const topOf = async (text: string) => (await page.getByRole('heading', { name: text }).first().boundingBox())?.y ?? 0
  await page.getByText('Failed videos').first().waitFor()
  assert.ok((await topOf('A first request')) < (await topOf('Failed videos')))
  await page.getByRole('link', { name: 'Models', exact: true }).first().waitFor()
  assert.equal(await page.getByRole('link', { name: 'Filmgate console' }).getAttribute('href'), '/')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('textbox').or(page.getByRole('combobox')).first().fill('remix')
  await page
    .getByRole('option', { name: /Remix a video/ })
    .first()
    .click()
  await page.waitForURL(/#tag\/videos\/remixVideo$/)
  await page.getByRole('heading', { name: 'Remix a video' }).first().waitFor()
  assert.deepEqual([errors, seen.foreign, seen.refused], [[], [], []])
})

it('has a page for each model, whose sample plays', async () => {
  const { page, errors } = await world.openAsClient('/models/sora-2')
  await page.getByRole('link', { name: 'Its page in the API reference, with a sample' }).click()
  await page.getByRole('heading', { level: 1, name: 'sora-2' }).waitFor()
  await page.locator('video').evaluate(async (element: HTMLVideoElement) => {
    await element.play()
    await new Promise<void>((resolve) => {
      element.addEventListener('timeupdate', () => element.currentTime > 0.2 && resolve())
    })
  })
  assert.deepEqual(errors, [])
})

it('tries a request with the session of the console, without a token', async () => {
  const { page, errors } = await world.openAsClient('/models')
  const seen = await openDocs(page, '#tag/models/listModels')
  await tryRequest(page)
  await page.getByText('200 OK').first().waitFor()
  assert.deepEqual([errors, seen.foreign, seen.refused], [[], [], []])
})

it('tries a request with a token, which is not kept', async () => {
  const { page, errors } = await world.open()
  const seen = await openDocs(page, '#tag/models/listModels')
  await page.getByPlaceholder('Token').first().fill(token)
  await tryRequest(page)
  await page.getByText('200 OK').first().waitFor()
  const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')
  assert.ok(!String(kept).includes(token))
  assert.deepEqual([errors, seen.foreign, seen.refused], [[], [], []])
})

async function tryRequest(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Test Request\s*\(\s*get \/v1\/models\s*\)/ }).click()
  await page.getByRole('button', { name: /^Send Request/ }).click()
}
