import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Page } from 'playwright-core'
import { openWorld, type World } from './world.ts'

/* One model first, and then unusual names, in a real browser. */

let world: World
/** No space, and no other place to break. */
const long = `a${'very'.repeat(45)}long`

before(async () => {
  world = await openWorld()
})
after(() => world[Symbol.asyncDispose]())

const phone = { viewport: { width: 390, height: 844 } }
const widthOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth')

it('with one model, the playground says how to get another one to compare', async () => {
  const operator = await world.openAsOperator()
  await operator.page.getByText('This is the only model.').waitFor()
  await operator.page.getByRole('link', { name: 'Add an account of a provider' }).click()
  // The form is open, and hides the page behind it.
  await operator.page.getByRole('dialog', { name: 'Add an account' }).waitFor()
  const client = await world.openAsClient()
  await client.page.getByText('Ask your operator to add one.').waitFor()
  assert.deepEqual([operator.errors, client.errors], [[], []])
})

it('a name of 186 characters without a space widens no page', async () => {
  const settings = { account: 'studio', seconds: { values: [2, 4] }, size: { values: ['640x360'] } }
  await world.operate('/models', { name: long, settings })
  await world.createVideo('a fox with a long name', long)
  const { page, errors } = await world.openAsOperator('/', phone)
  const search = `model=${encodeURIComponent(JSON.stringify([long, 'studio']))}`
  for (const [path, seen] of [
    [`/?${search}`, 'a fox with a long name'],
    ['/videos', 'a fox with a long name'],
    ['/usage', 'Videos by day and model'],
    ['/models', 'studio'],
    [`/models/${long}`, 'What it accepts'],
  ] as const) {
    await page.goto(world.service.url + path)
    await page.getByText(seen).first().waitFor()
    if (path === '/usage') await page.locator('.u-legend').getByText(long).waitFor()
    if (path.startsWith('/?')) await page.locator('.quotes').getByText(long).waitFor()
    assert.equal(await widthOf(page), 390, path)
  }
  // On a phone, each line of a card has the name of its column beside the value.
  await page.goto(`${world.service.url}/videos`)
  const cell = page.locator('td[data-column="model"]').filter({ hasText: long })
  await cell.waitFor()
  const [card, link] = [await cell.boundingBox(), await cell.getByRole('link').boundingBox()]
  assert.ok(card && link && link.x > card.x + 40 && link.x + link.width <= card.x + card.width + 1)
  // On a desk, the last column is in view.
  await page.setViewportSize({ width: 1440, height: 900 })
  const last = await page.locator('td[data-column="created"]').first().boundingBox()
  assert.ok(last && last.x + last.width <= 1440)
  assert.deepEqual(errors, [])
})

it('a mark of direction in a name does not reorder the text around it', async () => {
  const name = 'anna \u202eevil'
  const { id } = await world.operate<{ id: string }>('/tokens', { name, project: 'p \u202eq' })
  const { page, errors } = await world.openAsOperator(`/tokens/${id}`)
  await page.locator('h1 bdi').waitFor()
  assert.equal(await page.locator('h1 bdi').textContent(), name)
  await page.locator('dd bdi').getByText('p \u202eq').waitFor()
  await page.getByRole('button', { name: 'Revoke' }).click()
  // The question mark is after the name.
  assert.equal(await page.getByRole('alertdialog').getByRole('heading').textContent(), `Revoke \u2068${name}\u2069?`)
  await page.goto(`${world.service.url}/tokens`)
  await page.locator('td[data-column="name"] bdi').filter({ hasText: 'evil' }).waitFor()
  assert.deepEqual(errors, [])
})

it('a path that does not exist is a page of the console in a browser, and an error for a client', async () => {
  const { page, errors } = await world.openAsOperator()
  for (const path of ['/nope', '/nope/at/all', '/videos/%', '/v1x']) {
    const response = await page.goto(world.service.url + path)
    assert.equal(response?.status(), 404, path)
    assert.match(response?.headers()['content-security-policy'] ?? '', /default-src 'none'/)
    await page.getByText('Not found', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Go to the start page' }).waitFor()
    const told = await world.service.fetch(path)
    assert.match(told.headers.get('content-type') ?? '', /^application\/json/)
  }
  assert.deepEqual(
    errors.filter((text) => !text.includes('404')),
    [],
  )
})

it('a proxy that sends a page in place of JSON counts as no response, and the page goes on when it is gone', async () => {
  const { page } = await world.openAsOperator('/models')
  await page.getByRole('link', { name: 'studio', exact: true }).first().waitFor()
  const html = { status: 200, contentType: 'text/html', body: '<!doctype html><title>Sign in to the proxy</title>' }
  await page.route('**/operator/v1/models', (route) => route.fulfill(html))
  await page.route('**/console/session', (route) => route.fulfill(html))
  await page.reload()
  await page.getByText('The service does not respond.').waitFor()
  assert.equal(await page.getByText('Unexpected token').count(), 0)
  await page.unroute('**/console/session')
  await page.unroute('**/operator/v1/models')
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor()
})
