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
  assert.equal(await filter.inputValue(), 'fox')
  await page.getByRole('link', { name: 'Videos', exact: true }).click()
  await page.waitForURL(/\/videos$/)
  assert.equal(await filter.inputValue(), '')
  assert.deepEqual(errors, [])
})
