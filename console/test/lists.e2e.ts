import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { openWorld, settings, type World } from './world.ts'

/* Lists in a real browser, on a real service: what is long, moves on, or is only partly read. */

let world: World

before(async () => {
  world = await openWorld({ yaml: JSON.stringify(settings) })
  await world.createVideo('a red fox in snow at dusk')
})
after(() => world[Symbol.asyncDispose]())

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** What an address has, and what is left of it. */
const addresses: readonly [given: string, left: string][] = [
  ['/videos?utm_source=mail', '/videos'],
  ['/videos?page=2&cursor=x', '/videos'],
  ['/videos?status=nonsense&model=studio', '/videos?model=studio'],
  ['/videos?after=tok_0123456789ab', '/videos'],
  ['/videos?from=banana', '/videos'],
  ['/videos?from=2026-13-45&until=99999-01-01', '/videos'],
  ['/overview?range=99999', '/overview'],
  ['/usage?by=banana', '/usage'],
  ['/alarms?status=zzz', '/alarms'],
  ['/audit?after=abc', '/audit'],
  ['/money-at-risk?after=abc&show=x', '/money-at-risk'],
  ['/tokens?after=abc', '/tokens'],
  ['/models?x=1', '/models'],
  ['/models/studio?x=1', '/models/studio'],
  ['/settings?show=x', '/settings'],
  ['/?use=x&from=1', '/'],
]

it('an address with an unknown or wrong value shows its page without it', async () => {
  const { page, errors } = await world.openAsOperator()
  for (const [given, left] of addresses) {
    await page.goto(world.service.url + given)
    await page.waitForURL(world.service.url + left)
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(await page.getByText('This page can’t be shown').count(), 0, given)
  }
  assert.deepEqual(errors, [])
})

it('a filter that the service refuses can be removed', async () => {
  const { page } = await world.openAsOperator()
  const error = { message: '`text` is too long.', type: 'invalid_request_error', param: 'text', code: 'invalid_value' }
  await page.route(/tasks\?text=/, (route) => route.fulfill({ status: 400, json: { error } }))
  await page.goto(`${world.service.url}/videos?text=fox`)
  await page.getByRole('link', { name: 'Show the page without filters' }).click()
  await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
})

describe('videos', () => {
  it('that a long search has not found yet may be on the next page', async () => {
    const { page, errors } = await world.openAsOperator()
    // A search through very many tasks returns what it has found so far: here, nothing.
    const part = { object: 'list', data: [], has_more: true, last_id: `video_${'f'.repeat(48)}` }
    await page.route(/\/operator\/v1\/tasks\?(?!.*after=)/, (route) => route.fulfill({ json: part }))
    await page.goto(`${world.service.url}/videos?text=fox`)
    await page.getByText('No matching videos so far').waitFor()
    assert.equal(await page.getByText('No videos match these filters').count(), 0)
    await button(page, 'Next page').click()
    await page.waitForURL(/after=video_/)
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    assert.deepEqual(errors, [])
  })

  it('of a client leave a list that is filtered by their status when it changes', async () => {
    const { page, errors } = await world.openAsClient('/videos?status=in_progress')
    await page.getByText('No videos match these filters').waitFor()
    const made = await world.service.submit({ model: 'studio', prompt: 'a long whale', seconds: '8', size: '640x360' })
    const row = page.getByRole('row').filter({ hasText: 'a long whale' })
    await row.getByText('In progress').waitFor()
    await world.service.finish(((await made.json()) as { id: string }).id)
    await page.getByText('No videos match these filters').waitFor()
    assert.deepEqual(errors, [])
  })

  it('of a client do not go back to what a slow read has', async () => {
    const { page, errors } = await world.openAsClient('/videos')
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    const video = { model: 'studio', prompt: 'a slow fox', seconds: '2', size: '640x360' }
    const finished = Promise.withResolvers<void>()
    await page.route(
      /\/v1\/videos\?/,
      async (route) => {
        const response = await route.fetch()
        await finished.promise
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    // The event of a new video begins the read.
    const read = page.waitForRequest(/\/v1\/videos\?/)
    const made = await world.service.submit(video)
    await read
    await world.service.finish(((await made.json()) as { id: string }).id)
    finished.resolve()
    await page.getByRole('row').filter({ hasText: 'a slow fox' }).getByText('Completed').waitFor()
    assert.deepEqual(errors, [])
  })

  it('of all projects are read again every few seconds on the first page, and not searched for that often', async () => {
    const { page, errors } = await world.open()
    await page.clock.install()
    await world.signInByLink(page)
    const read = /\/operator\/v1\/tasks\?/
    let reads = 0
    page.on('request', (request) => {
      if (read.test(request.url())) reads += 1
    })
    await page.goto(`${world.service.url}/videos`)
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    await Promise.all([page.waitForRequest(read), page.clock.runFor('00:10')])
    await page.goto(`${world.service.url}/videos?text=fox`)
    await page.getByRole('link', { name: 'a red fox in snow at dusk' }).waitFor()
    const before = reads
    await page.clock.runFor('00:10')
    assert.equal(reads, before)
    await Promise.all([page.waitForRequest(read), page.clock.runFor('01:00')])
    assert.deepEqual(errors, [])
  })

  it('of a client are followed only while the tab is shown, and then from where it was hidden', async () => {
    const { page, errors } = await world.openAsClient('/videos')
    const row = (prompt: string) => page.getByRole('row').filter({ hasText: prompt })
    await world.createVideo('a fox that is seen')
    await row('a fox that is seen').getByText('Completed').waitFor()
    const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/v1/videos/events'))
    await show(page, false)
    await closed
    const id = await world.createVideo('a fox behind the tab')
    const opened = page.waitForRequest(/\/v1\/videos\/events\?last_event_id=/)
    await show(page, true)
    await opened
    await row('a fox behind the tab').getByText('Completed').waitFor()
    await page.getByRole('link', { name: 'a fox behind the tab' }).click()
    await page.waitForURL(new RegExp(id))
    assert.deepEqual(errors, [])
  })

  /** As if the reader had changed to another tab, or come back. */
  async function show(page: Page, isShown: boolean): Promise<void> {
    await page.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, !isShown)
  }
})

it('what expires soon is counted up to a time that is named', async () => {
  const { page, errors } = await world.openAsOperator('/', { timezoneId: 'UTC' })
  const expiries = ['10', '11', '12'].map((hour) => ({
    from: `2026-11-15T${hour}:00:00.000Z`,
    videos: 1,
    bytes: 1_000,
  }))
  const storage = {
    object: 'operator.storage',
    at: '2026-11-15T10:50:00.000Z',
    stored_bytes: 3_000,
    bucket_limit: null,
  }
  await page.route('**/operator/v1/storage', (route) =>
    route.fulfill({ json: { ...storage, kept: { tasks: 0, bytes: 0 }, expiries } }),
  )
  await page.goto(`${world.service.url}/overview`)
  const facts = page.locator('.expiry figcaption')
  await facts.waitFor()
  // The hour from 11:00 also has videos that expire after 11:50.
  assert.match((await facts.textContent()) ?? '', /^Until 15 Nov 2026, 12:002\skB, 2 videosThen until 16 Nov/)
  assert.deepEqual(errors, [])
})
