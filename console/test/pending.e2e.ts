import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { operatorToken } from '../../test/service.ts'
import { isUnexpected, openWorld, settings, type World } from './world.ts'

/* Requests that take long, fail later than the first one, or end after their page was left, in a real browser. */

let world: World

before(async () => {
  world = await openWorld({ yaml: JSON.stringify(settings) })
})
after(() => world[Symbol.asyncDispose]())

/** Holds the requests to a path until they are released. */
async function hold(page: Page, path: RegExp, method: string) {
  const held: Route[] = []
  let isHeld = true
  await page.route(path, (route) => {
    if (!isHeld || route.request().method() !== method) return route.fallback()
    held.push(route)
  })
  return {
    held,
    async release(): Promise<void> {
      isHeld = false
      await Promise.all(held.map((route) => route.continue()))
    },
  }
}

const error = { message: 'Something broke.', type: 'server_error', param: null, code: null }
const creations = /\/v1\/videos$/

/** Fills the playground and sends it. The service responds with 503 until the route is removed. */
async function createInVain(page: Page, prompt: string): Promise<void> {
  await page.route(creations, (route) => route.fulfill({ status: 503, json: { error } }))
  await create(page, prompt)
  await page.getByText('Something broke. Trying again…').waitFor()
}

async function create(page: Page, prompt: string): Promise<void> {
  await page.getByLabel('Prompt', { exact: true }).fill(prompt)
  await page.getByLabel('Length').selectOption('2')
  await page.getByLabel('Size').selectOption('640x360')
  await page.getByRole('button', { name: 'Create the video' }).click()
}

/** How many videos of any token have this prompt. */
async function count(prompt: string): Promise<number> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await world.service.fetch('/operator/v1/tasks?limit=100', { headers })
  const { data } = (await response.json()) as { data: { prompt: string }[] }
  return data.filter((one) => one.prompt === prompt).length
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Your account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('Token', { exact: true }).waitFor()
}

async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(secret)
  await page.getByLabel('Token', { exact: true }).press('Enter')
  await page.getByRole('button', { name: 'Your account' }).waitFor()
}

describe('a creation whose page is left', () => {
  it('does not lead back to it', async () => {
    const { page, errors } = await world.openAsOperator()
    const requests = await hold(page, creations, 'POST')
    await create(page, 'a fox on its own')
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.getByRole('link', { name: 'Create a token' }).click()
    await page.getByLabel('Name', { exact: true }).fill('frida')
    const response = page.waitForResponse(creations)
    await requests.release()
    assert.equal((await response).status(), 200)
    // The next read of the session: the page has handled the response by then.
    await page.waitForResponse('**/console/session')
    assert.equal(new URL(page.url()).pathname, '/tokens/new')
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'frida')
    assert.equal(await count('a fox on its own'), 1)
    assert.deepEqual(errors, [])
  })

  it('goes on, and creates the video once', async () => {
    const { page } = await world.openAsClient()
    await createInVain(page, 'a late fox')
    await page.getByRole('link', { name: 'Videos', exact: true }).click()
    await page.getByText('Your video is not created yet.').waitFor()
    await page.unroute(creations)
    await page.getByRole('link', { name: 'a late fox' }).waitFor()
    await page.getByText('Your video is not created yet.').waitFor({ state: 'detached' })
    assert.equal(await count('a late fox'), 1)
  })

  it('can also be stopped while there is no response at all', async () => {
    const { page } = await world.openAsClient()
    const requests = await hold(page, creations, 'POST')
    await create(page, 'a silent fox')
    await page.getByRole('link', { name: 'Videos', exact: true }).click()
    await page.getByRole('button', { name: 'Stop trying' }).waitFor()
    const asked = page.waitForEvent('dialog').then((dialog) => dialog.accept())
    await Promise.all([asked, page.reload()])
    assert.equal(requests.held.length, 1)
  })

  it('can be stopped on every page', async () => {
    const { page } = await world.openAsClient()
    await createInVain(page, 'an unwanted fox')
    // The browser asks first, and the page stays.
    const asked = page.waitForEvent('dialog').then(async (dialog) => {
      await dialog.dismiss()
      return dialog.type()
    })
    await page.evaluate(() => location.reload())
    assert.equal(await asked, 'beforeunload')
    await page.getByRole('link', { name: 'Videos', exact: true }).click()
    await page.getByRole('button', { name: 'Stop trying' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Stop trying' }).click()
    await page.getByText('Trying again…').waitFor({ state: 'detached' })
    await page.unroute(creations)
    // In the playground it says so, and the same form can be sent again.
    await page.getByRole('link', { name: 'Playground' }).click()
    await createInVain(page, 'a fox after all')
    await page.getByRole('button', { name: 'Stop trying' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Stop trying' }).click()
    await page.getByRole('alert').getByText('no second video is created').waitFor()
    await page.unroute(creations)
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.getByRole('article', { name: 'studio' }).waitFor()
    assert.equal(await count('a fox after all'), 1)
    assert.equal(await count('an unwanted fox'), 0)
  })

  it('and that the service refuses is reported where one is', async () => {
    const { page } = await world.openAsClient()
    await createInVain(page, 'a refused fox')
    await page.getByRole('link', { name: 'Videos', exact: true }).click()
    const message = 'The budget is spent.'
    await page.unroute(creations)
    await page.route(creations, (route) => route.fulfill({ status: 429, json: { error: { ...error, message } } }))
    await page.getByText('studio did not create “a refused fox”.').waitFor()
    await page.getByText(message).waitFor()
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByText(message).waitFor({ state: 'detached' })
  })
})

describe('a creation ends with the session of its person', () => {
  it('who signs out, and somebody else signs in', async () => {
    const { secret } = await world.operate<{ secret: string }>('/tokens', { name: 'gerd' })
    const { page } = await world.openAsClient()
    await createInVain(page, 'a private fox')
    await signOut(page)
    await signIn(page, secret)
    await page.unroute(creations)
    assert.equal(await page.getByText('Trying again…').count(), 0)
    // A try would be at most 5 seconds away.
    await page.waitForResponse('**/console/session')
    await page.waitForResponse('**/console/session')
    assert.equal(await count('a private fox'), 0)
  })

  it('in another tab as well', async () => {
    const { secret } = await world.operate<{ secret: string }>('/tokens', { name: 'hanna' })
    const { page } = await world.openAsClient()
    await createInVain(page, 'another private fox')
    const other = await page.context().newPage()
    await other.goto(`${world.service.url}/models`)
    await signOut(other)
    await signIn(other, secret)
    await page.unroute(creations)
    await page.waitForFunction(() => document.querySelector('textarea')?.value === '')
    await page.waitForResponse('**/console/session')
    assert.equal(await count('another private fox'), 0)
  })
})

describe('a dialog whose request takes long', () => {
  it('can’t be closed or confirmed again', async () => {
    const { id } = await world.operate<{ id: string }>('/tokens', { name: 'emil' })
    const { page, errors } = await world.openAsOperator(`/tokens/${id}`)
    const requests = await hold(page, /\/revoke$/, 'POST')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByRole('button', { name: 'Revoke' }).dblclick()
    await dialog.getByRole('button', { name: 'Revoke', disabled: true }).waitFor()
    await dialog.getByRole('button', { name: 'Go back', disabled: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Revoke', disabled: true }).waitFor()
    assert.equal(requests.held.length, 1)
    await requests.release()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('.head .status').getByText('Revoked').waitFor()
    assert.deepEqual(errors, [])
  })

  it('keeps its form, which is sent once', async () => {
    const { page, errors } = await world.openAsOperator('/providers')
    const requests = await hold(page, /\/operator\/v1\/accounts$/, 'POST')
    await page.getByRole('button', { name: 'Add an account' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Provider', { exact: true }).selectOption('openai')
    await dialog.getByLabel('Name', { exact: true }).fill('slow')
    await dialog.getByLabel('Key', { exact: true }).fill('the key of a slow account')
    await dialog.getByLabel('Address', { exact: true }).fill('http://127.0.0.1:9')
    await dialog.getByRole('button', { name: 'Add an account' }).dblclick()
    await dialog.getByRole('button', { name: 'Cancel', disabled: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 500)
    await dialog.getByRole('button', { name: 'Add an account', disabled: true }).waitFor()
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'slow')
    assert.equal(requests.held.length, 1)
    await requests.release()
    await page.getByRole('heading', { level: 1, name: 'slow' }).waitFor()
    assert.deepEqual(errors, [])
  })
})

describe('a read that fails after the first one', () => {
  it('leaves the page as it is, which says so and goes on', async () => {
    await world.createVideo('a steady fox')
    const { page, errors } = await world.openAsOperator('/videos')
    const row = page.getByRole('row').filter({ hasText: 'a steady fox' })
    await row.waitFor()
    await page.route('**/operator/v1/tasks?*', (route) => route.fulfill({ status: 500, json: { error } }))
    await page.getByText('Something broke. Trying again…').waitFor()
    await row.waitFor()
    await page.unroute('**/operator/v1/tasks?*')
    await page.getByText('Trying again…').waitFor({ state: 'detached' })
    await row.waitFor()
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('because a proxy responds in place of the service does not say that a video was deleted', async () => {
    const id = await world.createVideo('a fox behind a proxy')
    const { page, errors } = await world.openAsOperator(`/videos/${id}`)
    const title = page.getByRole('heading', { level: 1, name: 'a fox behind a proxy' })
    await title.waitFor()
    const routes = /\/(operator|console)\//
    await page.route(routes, (route) => route.fulfill({ status: 404, body: '404 page not found' }))
    await page.getByText('The service does not respond. Trying again…').waitFor()
    await page.waitForResponse((response) => response.url().endsWith(id) && response.status() === 404)
    assert.ok(await title.isVisible())
    await page.unroute(routes)
    await page.getByText('Trying again…').waitFor({ state: 'detached' })
    assert.ok(await title.isVisible())
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('of the overview leaves its charts', async () => {
    await world.createVideo('a fox in a chart')
    const { page } = await world.openAsOperator()
    await page.clock.install()
    await page.goto(`${world.service.url}/overview`)
    const charts = page.locator('main canvas')
    await charts.first().waitFor()
    await page.route('**/operator/v1/usage?*', (route) => route.fulfill({ status: 500, json: { error } }))
    await page.clock.fastForward(61_000)
    await page.getByText('Something broke. Trying again…').waitFor()
    assert.ok((await charts.count()) > 0)
    await page.unroute('**/operator/v1/usage?*')
    await page.clock.fastForward(61_000)
    await page.getByText('Trying again…').waitFor({ state: 'detached' })
  })

  it('of one part leaves the others: the overview goes on without what is stored', async () => {
    const { page } = await world.openAsOperator('/models')
    await page.route('**/operator/v1/storage', (route) => route.fulfill({ status: 500, json: { error } }))
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('Something broke.').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })
})

describe('without events, the page of a client', () => {
  /** The first response says that the videos are running, and no event arrives. */
  async function openRunning(path: string, read: RegExp): Promise<Page> {
    const { page } = await world.openAsClient('/models')
    await page.route('**/v1/videos/events*', () => {})
    let count = 0
    await page.route(read, async (route) => {
      const response = await route.fetch()
      const text = await response.text()
      count += 1
      await route.fulfill({ response, body: count > 1 ? text : text.replaceAll('"completed"', '"in_progress"') })
    })
    await page.goto(world.service.url + path)
    return page
  }

  it('of a video notices that it is completed', async () => {
    const id = await world.createVideo('a quiet fox')
    const page = await openRunning(`/videos/${id}`, new RegExp(`/v1/videos/${id}$`))
    await page.locator('.head').getByText('In progress').waitFor()
    await page.locator('.head').getByText('Completed').waitFor()
  })

  it('of all videos notices that one is completed', async () => {
    await world.createVideo('a quiet fox in a list')
    const page = await openRunning('/videos', /\/v1\/videos\?/)
    const row = page.getByRole('row').filter({ hasText: 'a quiet fox in a list' })
    await row.getByText('In progress').waitFor()
    await row.getByText('Completed').waitFor()
  })
})

describe('something small that fails is said where it is', () => {
  it('a text that the browser does not copy', async () => {
    const { page, errors } = await world.openAsClient('/models')
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))")
    await page.getByRole('link', { name: 'Playground' }).click()
    await page.locator('.copy').first().click()
    await page.locator('.copy').getByText('Copy it by hand').waitFor()
    assert.deepEqual(errors, [])
  })

  it('a chart whose script can’t be loaded', async () => {
    await world.createVideo('a counted fox')
    const { page, errors } = await world.openAsClient('/models')
    await page.route('**/plot-*.js', (route) => route.fulfill({ status: 404, body: '' }))
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText('The chart can’t be loaded. Reload the page.').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor()
    assert.deepEqual(errors.filter(isUnexpected), [])
  })
})
