import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { openWorld, settings, type World } from './world.ts'

/* The console without a mouse, in a real browser, on a real service: Ctrl-K, and where the focus is. */

let world: World
let film: string

before(async () => {
  world = await openWorld({ yaml: JSON.stringify(settings) })
  film = await world.createVideo('a red fox in snow at dusk')
})
after(() => world[Symbol.asyncDispose]())

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

/** With the name that screen readers read. */
const focused = (page: Page, role: 'main' | 'textbox', name: string) =>
  page.getByRole(role, { name, exact: true }).and(page.locator(':focus')).waitFor()

it('Ctrl-K finds pages, models, accounts, tokens and videos with the keyboard alone', async () => {
  const { id } = await world.operate<{ id: string }>('/tokens', { name: 'the studio of anna', project: 'posters' })
  const { page, errors } = await world.openAsOperator()
  await heading(page, 'Playground')
  const find = async (text: string, kind: string | RegExp) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill(text)
    const option = page.getByRole('option').filter({ has: page.locator('small').getByText(kind, { exact: true }) })
    await option.first().waitFor()
    for (let at = 0; (await option.first().getAttribute('aria-selected')) !== 'true'; at += 1) {
      assert.ok(at < 20)
      await page.keyboard.press('ArrowDown')
    }
    await page.keyboard.press('Enter')
  }
  for (const text of ['the studio of', 'posters', id]) {
    await find(text, 'Token')
    await heading(page, 'the studio of anna')
    await page.goto(world.service.url)
    await heading(page, 'Playground')
  }
  await find('studio', 'Account')
  await page.waitForURL(/\/providers\/studio$/)
  for (const text of ['fox in snow', film.slice(0, 20)]) {
    await find(text, /^studio · Completed · /)
    await heading(page, 'a red fox in snow at dusk')
    await page.goto(world.service.url)
    await heading(page, 'Playground')
  }
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('sora')
  await page.keyboard.press('Enter')
  await heading(page, 'sora-2')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill(film)
  await page.keyboard.press('Enter')
  await heading(page, 'a red fox in snow at dusk')
  assert.deepEqual(errors, [])
  const client = await world.openAsClient()
  await heading(client.page, 'Playground')
  await client.page.keyboard.press('Control+k')
  await client.page.getByRole('combobox', { name: 'Search pages, models and videos' }).fill('FOX in snow')
  await client.page.getByRole('option').filter({ hasText: 'a red fox in snow at dusk' }).first().click()
  await heading(client.page, 'a red fox in snow at dusk')
  assert.deepEqual(client.errors, [])
})

it('Enter in Ctrl-K, before anything is read, opens the first one that is found', async () => {
  const { page, errors } = await world.openAsOperator('/alarms')
  const asked = Promise.withResolvers<Route>()
  await page.route(/\/v1\/models$/, asked.resolve)
  await page.reload()
  await heading(page, 'Alarms')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('sora')
  await page.getByText('No results.').waitFor()
  await page.keyboard.press('Enter')
  await (await asked.promise).continue()
  await heading(page, 'sora-2')
  assert.deepEqual(errors, [])
})

it('a key that chooses a word in an input method does nothing else', async () => {
  const { page, errors } = await world.openAsOperator('/videos')
  const compose = (element: HTMLElement) =>
    void element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true }))
  const filter = page.getByLabel('Prompt contains')
  await filter.fill('fox')
  await filter.evaluate(compose)
  assert.equal(new URL(page.url()).search, '')
  await filter.press('Enter')
  await page.waitForURL(/text=fox/)
  await page.keyboard.press('Control+k')
  const search = page.getByRole('dialog').getByRole('combobox')
  await search.fill('models')
  await page.getByRole('option').first().waitFor()
  await search.evaluate(compose)
  assert.ok(await search.isVisible())
  await search.press('Enter')
  await heading(page, 'Models')
  assert.deepEqual(errors, [])
})

it('a filter keeps the focus when it is applied', async () => {
  const { page, errors } = await world.openAsOperator('/videos')
  const filter = page.getByLabel('Prompt contains')
  await filter.fill('fox ')
  await filter.press('Enter')
  await page.waitForURL(/text=fox$/)
  await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
  await focused(page, 'textbox', 'Prompt contains')
  const field = await filter.elementHandle()
  const hasValue = (text: string) =>
    page.waitForFunction(([field, text]) => (field as HTMLInputElement).value === text, [field, text] as const)
  await hasValue('fox')
  await page.getByRole('link', { name: 'Videos', exact: true }).click()
  await page.waitForURL(/\/videos$/)
  await hasValue('')
  await filter.fill('a whale')
  await filter.press('Enter')
  // It is gone with the filter.
  await page.getByRole('link', { name: 'Show all videos' }).press('Enter')
  await focused(page, 'main', 'Videos')
  assert.deepEqual(errors, [])
})

it('the keyboard continues on the page that was chosen with Ctrl-K', async () => {
  const other = await world.createVideo('a lighthouse in a storm')
  const { page, errors } = await world.openAsOperator()
  await heading(page, 'Playground')
  const choose = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill(text)
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
  }
  await choose('models')
  await focused(page, 'main', 'Models')
  assert.equal(await page.locator('#page').evaluate((main) => getComputedStyle(main).outlineStyle), 'none')
  const first = page.getByRole('main').getByRole('link').first()
  await first.waitFor()
  await page.keyboard.press('Tab')
  await first.and(page.locator(':focus')).waitFor()
  await choose(other)
  await focused(page, 'main', 'a lighthouse in a storm')
  await choose(film)
  await focused(page, 'main', 'a red fox in snow at dusk')
  // Another page of the same kind, from a button that it has as well.
  await page.getByRole('button', { name: 'Delete this video' }).focus()
  await choose(other)
  await focused(page, 'main', 'a lighthouse in a storm')
  assert.deepEqual(errors, [])
})

it('Ctrl-K gives the focus back to what had it', async () => {
  const { page, errors } = await world.openAsOperator('/videos')
  await heading(page, 'Videos')
  const close = async () => {
    const search = page.getByRole('dialog').getByRole('combobox').and(page.locator(':focus'))
    await search.waitFor()
    await page.keyboard.press('Escape')
    await search.waitFor({ state: 'detached' })
  }
  await page.getByLabel('Prompt contains').focus()
  await page.keyboard.press('Control+k')
  await close()
  await focused(page, 'textbox', 'Prompt contains')
  await page.getByRole('button', { name: 'Search' }).click()
  await close()
  await page.getByRole('button', { name: 'Search' }).and(page.locator(':focus')).waitFor()
  await page.getByRole('link', { name: 'Settings' }).click()
  await focused(page, 'main', 'Settings')
  await page.keyboard.press('Control+k')
  await close()
  await focused(page, 'main', 'Settings')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('dark')
  await page.getByRole('option', { name: 'Dark theme' }).waitFor()
  await page.keyboard.press('Enter')
  await page.locator('[data-theme=dark]').waitFor()
  await focused(page, 'main', 'Settings')
  // What had it is on the page before.
  await page.getByRole('main').getByRole('textbox').first().focus()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').and(page.locator(':focus')).waitFor()
  await page.goBack()
  await page.waitForURL(/\/videos$/)
  await page.locator('#page h1').getByText('Videos').waitFor({ state: 'attached' })
  await close()
  await focused(page, 'main', 'Videos')
  assert.deepEqual(errors, [])
})

it('the keyboard continues on a page that was opened by a link, by the browser or by an action', async () => {
  const deleted = await world.createVideo('a ship in a bottle')
  const { page, errors } = await world.openAsOperator()
  await heading(page, 'Playground')
  await page.getByRole('link', { name: 'Videos', exact: true }).press('Enter')
  await focused(page, 'main', 'Videos')
  await page.getByRole('link', { name: 'a red fox in snow at dusk' }).press('Enter')
  await focused(page, 'main', 'a red fox in snow at dusk')
  await page.goBack()
  await focused(page, 'main', 'Videos')
  // This one leads to a field.
  await page.getByRole('link', { name: 'a red fox in snow at dusk' }).press('Enter')
  await page.getByRole('link', { name: 'Run again' }).press('Enter')
  await page.waitForURL(/\?model=/)
  await page.getByLabel('Prompt', { exact: true }).and(page.locator(':focus')).waitFor()
  // After the deletion it would not be found.
  const picture = page.waitForResponse(/variant=thumbnail/)
  await page.goto(`${world.service.url}/videos/${deleted}`)
  await picture
  await page.getByRole('button', { name: 'Delete this video' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete this video' }).press('Enter')
  await focused(page, 'main', 'Videos')
  assert.deepEqual(errors, [])
})
