import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { freePort } from '../../test/free-port.ts'
import { operatorToken, token } from '../../test/service.ts'
import { isUnexpected, openWorld, type World } from './world.ts'

/* A service that does not respond, and a session that ends, in a real browser: it is said at once, and nothing is lost. */

const lostLine = 'The service does not respond. Trying again…'
const endedLine = 'Your session has ended'
let world: World

before(async () => {
  world = await openWorld({ env: { FILMGATE_PORT: String(await freePort()) } })
})
after(() => world[Symbol.asyncDispose]())

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const prompt = (page: Page) => page.getByLabel('Prompt', { exact: true })

async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(secret)
  await page.getByLabel('Token', { exact: true }).press('Enter')
  await page.getByLabel('Token', { exact: true }).waitFor({ state: 'detached' })
}

/** In another tab of the same browser. */
async function signOutElsewhere(context: BrowserContext): Promise<void> {
  const other = await context.newPage()
  await other.goto(`${world.service.url}/models`)
  await other.getByRole('button', { name: 'Your account' }).click()
  await other.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading(other, 'Sign in to Filmgate')
  assert.equal(await other.getByText(endedLine).count(), 0)
  await other.close()
}

describe('the service does not respond', () => {
  it('because it hangs: a page that reads nothing by itself says so, until it responds', async () => {
    const { page, errors } = await world.openAsOperator('/tokens/new')
    await page.getByLabel('Name', { exact: true }).fill('anna')
    await page.route('**/*', () => {})
    await page.getByText(lostLine).waitFor({ timeout: 15_000 })
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByText(lostLine).waitFor({ state: 'detached', timeout: 12_000 })
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'anna')
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('when another page is opened: that is shown as soon as its script can be loaded', async () => {
    const { page, errors } = await world.openAsClient('/videos')
    await heading(page, 'Videos')
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText(lostLine).waitFor()
    await heading(page, 'Videos')
    await page.context().setOffline(false)
    await heading(page, 'Usage')
    await page.getByText(lostLine).waitFor({ state: 'detached' })
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('and the stream of events breaks: the page says so at once', async () => {
    const { page } = await world.openAsClient()
    await prompt(page).waitFor()
    // The next read of the session by itself is 5 seconds away.
    await page.waitForResponse('**/console/session')
    await page.route('**/console/session', (route) => route.abort())
    await world.service.restart()
    await page.getByText(lostLine).waitFor({ timeout: 3_000 })
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByText(lostLine).waitFor({ state: 'detached' })
  })
})

it('after an update, a page whose script has another name is loaded again', async () => {
  const { page } = await world.openAsClient('/videos')
  await heading(page, 'Videos')
  await page.route('**/usage-*.js', (route) => route.fulfill({ status: 404, body: '' }))
  let loads = 0
  page.on('framenavigated', () => {
    loads += 1
  })
  // The service sends the page of another build.
  await page.route(`${world.service.url}/`, (route) => route.fulfill({ body: '<script src="/assets/new.js">' }))
  const reloaded = page.waitForEvent('load')
  await page.getByRole('link', { name: 'Usage' }).click()
  await reloaded
  assert.ok(loads > 0)
})

it('after an update, a page is not loaded again because the mouse is over a link', async () => {
  const { page } = await world.openAsClient('/')
  await prompt(page).fill('a fox that must not be lost')
  await page.route('**/usage-*.js', (route) => route.fulfill({ status: 404, body: '' }))
  await page.route(`${world.service.url}/`, (route) => route.fulfill({ body: '<script src="/assets/new.js">' }))
  await page.getByRole('link', { name: 'Usage' }).hover()
  // Something else that is read after it.
  await page.waitForResponse('**/console/session')
  assert.equal(await prompt(page).inputValue(), 'a fox that must not be lost')
})

describe('a failure that passes', () => {
  const broken = { status: 500, body: 'It broke.' }

  it('of the first read of a page is shown, and the page goes on by itself', async () => {
    const { page } = await world.openAsClient()
    await prompt(page).waitFor()
    await page.route('**/v1/usage*', (route) => route.fulfill(broken))
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText('This page can’t be shown').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await heading(page, 'Usage')
  })

  it('of a sign-out is shown, and it can be tried again', async () => {
    const { page, errors } = await world.openAsClient('/models')
    const refuse = { status: 503, json: { error: { message: 'The database is away.', param: null, code: null } } }
    await page.route('**/console/session', (route) =>
      route.request().method() === 'DELETE' ? route.fulfill(refuse) : route.fallback(),
    )
    await page.getByRole('button', { name: 'Your account' }).click()
    const leave = page.getByRole('menuitem', { name: 'Sign out' })
    await leave.click()
    await page.getByRole('alert').getByText('The database is away.').waitFor()
    await heading(page, 'Models')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await leave.click()
    await heading(page, 'Sign in to Filmgate')
    // The next person begins at the first page.
    await page.waitForURL(`${world.service.url}/`)
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('of the session is shown in words', async () => {
    const { page } = await world.open()
    await page.route('**/console/session', (route) => route.fulfill(broken))
    await page.goto(`${world.service.url}/models`)
    await page.getByText('This page can’t be shown').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByLabel('Token').waitFor()
  })

  it('of a link does not use it up', async () => {
    const { page } = await world.open()
    let failures = 0
    await page.route('**/console/session', (route) => {
      if (route.request().method() !== 'POST' || failures > 0) return route.fallback()
      failures += 1
      return route.fulfill({ status: 502, body: '' })
    })
    await page.goto(await world.link())
    await page.getByRole('button', { name: 'Your account' }).waitFor()
    assert.equal(failures, 1)
  })

  it('of the bytes of a video is said, and the video can be loaded again', async () => {
    const id = await world.createVideo('a fox that is cut off')
    const { page } = await world.openAsClient()
    await page.route(/\/content$/, (route) => route.fulfill({ status: 502, body: '' }))
    await page.goto(`${world.service.url}/videos/${id}`)
    const failed = page.getByText('The video can’t be played.')
    await failed.waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await failed.getByRole('button', { name: 'Try again' }).click()
    await failed.waitFor({ state: 'detached' })
  })
})

it('a script of the page that does not arrive leaves words', async () => {
  const { page } = await world.open()
  await page.route('**/assets/index-*.js', (route) => route.fulfill({ status: 502, body: '' }))
  await page.goto(world.service.url)
  await page.getByText('The console is loading.').waitFor()
})

it('the words of a service that can’t store anything are shown, and the request is sent again', async () => {
  const { page } = await world.openAsClient()
  const error = { message: 'The disk is full.', type: 'server_error', param: null, code: 'storage_unavailable' }
  await page.route(/\/v1\/videos$/, (route) => route.fulfill({ status: 503, json: { error } }))
  await prompt(page).fill('a fox without a place')
  await page.getByLabel('Length').selectOption('2')
  await page.getByLabel('Size').selectOption('640x360')
  await page.getByRole('button', { name: 'Create the video' }).click()
  await page.getByText('The disk is full. Trying again…').waitFor()
  assert.equal(await page.getByText(lostLine).count(), 0)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.getByRole('article', { name: 'studio' }).waitFor()
  await page.getByText('Trying again…').waitFor({ state: 'detached' })
})

describe('a session that ends', () => {
  it('in another tab: the page says why, and has what was typed after the sign-in', async () => {
    const { page } = await world.openAsClient()
    await prompt(page).fill('a fox that stays')
    await signOutElsewhere(page.context())
    await page.getByText(endedLine).waitFor({ timeout: 8_000 })
    await page.getByText('The page is still as you left it.').waitFor()
    // The page can't be reached, nor the form be closed.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await signIn(page, token)
    assert.equal(await prompt(page).inputValue(), 'a fox that stays')
    await page.getByText('a fox without a place').first().waitFor()
  })

  it('while a form is sent: it is refused, stays, and can be sent after the sign-in', async () => {
    const { page } = await world.openAsOperator('/tokens/new')
    await page.getByLabel('Name', { exact: true }).fill('berta')
    await page.getByLabel('Project').fill('films')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByText(endedLine).first().waitFor()
    await signIn(page, operatorToken)
    assert.equal(await page.getByLabel('Project').inputValue(), 'films')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await heading(page, 'berta')
  })

  it('is followed by the page of another person, without anything of the first one', async () => {
    const { secret } = await world.operate<{ secret: string }>('/tokens', { name: 'carla' })
    const { page } = await world.openAsClient()
    await prompt(page).fill('a secret fox')
    await page.getByText('a fox without a place').first().waitFor()
    await page.context().clearCookies()
    await page.getByText(endedLine).waitFor({ timeout: 8_000 })
    await signIn(page, secret)
    await prompt(page).waitFor()
    assert.equal(await prompt(page).inputValue(), '')
    assert.equal(await page.getByText('a fox without a place').count(), 0)
  })

  it('because its token was revoked is explained after a reload as well', async () => {
    const { id, secret } = await world.operate<{ id: string; secret: string }>('/tokens', { name: 'doris' })
    const { page } = await world.openWith(secret, '/models')
    await heading(page, 'Models')
    const headers = { authorization: `Bearer ${operatorToken}` }
    await world.service.fetch(`/operator/v1/tokens/${id}/revoke`, { method: 'POST', headers })
    await page.getByText(endedLine).waitFor({ timeout: 8_000 })
    await page.reload()
    await page.getByText(endedLine).waitFor()
    assert.equal(await page.getByText('The page is still as you left it.').count(), 0)
  })
})

it('a link that can’t be used while somebody is signed in says so, and their page stays', async () => {
  const { page } = await world.openAsOperator('/models')
  await page.goto(`${world.service.url}/models#code=AAAA`)
  await page.getByText('The link was already used, or has expired.').waitFor()
  await page.getByRole('button', { name: 'Go back' }).click()
  await heading(page, 'Models')
})

it('what is not the id of a video has no page', async () => {
  const { page, errors } = await world.openAsClient()
  for (const path of ['/videos/events', '/videos/quote']) {
    await page.goto(world.service.url + path)
    await page.getByText('Not found', { exact: true }).waitFor()
  }
  assert.deepEqual(errors, [])
})

it('a video that is deleted elsewhere leaves its page', async () => {
  for (const open of [world.openAsOperator, world.openAsClient]) {
    const id = await world.createVideo('a short fox')
    const { page } = await open(`/videos/${id}`)
    await heading(page, 'a short fox')
    await world.service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })
    await page.getByText('This video was deleted').waitFor({ timeout: 8_000 })
    assert.equal(await page.locator('video').count(), 0)
  }
})
