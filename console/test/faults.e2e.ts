import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { simulated } from '../../simulators/provider.ts'
import { startUpstream, type Upstream } from '../../simulators/upstream.ts'
import { Problem } from '../../src/core/problem.ts'
import { type Member, providers } from '../../src/providers/index.ts'
import { freePort } from '../../test/free-port.ts'
import { token } from '../../test/service.ts'
import { isUnexpected, openWorld, type World } from './world.ts'

/* What people see in a real browser while something is wrong: the service, its database, its events, or a text. */

/** Markup, a terminal's code for red, and a sign that reverses the text after it. */
const rude = '<img src=x onerror="document.title=1"><b>bold</b> \u001b[31mred \u202eback'
let world: World
let upstream: Upstream

/** A provider whose models are described, and whose jobs fail, with such a text. */
function rudeMember(): Member {
  const base = simulated['sim-none']
  assert.ok(base)
  return {
    ...base,
    cards: base.cards.map((card) => ({ ...card, id: 'sim-rude', provider: 'sim-rude', description: rude })),
    async create(setting) {
      const failed = { status: 'failed', problem: new Problem('content_policy', rude) } as const
      return { ...(await base.create(setting)), name: 'sim-rude', poll: async () => failed }
    },
  }
}

before(async () => {
  upstream = await startUpstream()
  world = await openWorld({
    members: { ...providers, ...simulated, 'sim-rude': rudeMember() },
    // The page must find the service again.
    env: { FILMGATE_PORT: String(await freePort()) },
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const small = { model: 'studio', seconds: '1', size: '256x256' }
const row = (page: Page, prompt: string) => page.getByRole('row').filter({ hasText: prompt })

describe('the service restarts, and the page goes on', () => {
  it('of a client, whose stream of events is resumed', async () => {
    const { page, errors } = await world.openAsClient('/videos')
    await world.service.submit({ ...small, prompt: 'before the restart' })
    await row(page, 'before the restart').getByText('Completed').waitFor()
    await world.service.restart()
    await world.service.submit({ ...small, prompt: 'after the restart' })
    await row(page, 'after the restart').getByText('Completed').waitFor()
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('of an operator, who stays signed in', async () => {
    const { page, errors } = await world.openAsOperator('/videos')
    await world.service.restart()
    await world.service.submit({ ...small, prompt: 'seen by an operator' })
    await row(page, 'seen by an operator').getByText('Completed').waitFor()
    await page.getByRole('button', { name: 'Your account' }).waitFor()
    assert.deepEqual(errors.filter(isUnexpected), [])
  })
})

describe('the database goes away', () => {
  it('while a video is created: the page says so, tries again, and nothing is created twice', async () => {
    const { page, errors } = await world.openAsClient()
    await page.getByLabel('Prompt', { exact: true }).fill('a patient fox')
    await page.getByLabel('Length').selectOption('2')
    await page.getByLabel('Size').selectOption('640x360')
    const other = new DatabaseSync(join(world.service.data, 'filmgate.db'))
    try {
      // Another program holds the lock: the service can't write.
      other.exec('BEGIN IMMEDIATE')
      await page.getByRole('button', { name: 'Create the video' }).click()
      await page.getByText(/The service cannot store anything right now\..* Trying again…/).waitFor()
    } finally {
      other.close()
    }
    await page.getByRole('article', { name: 'studio' }).getByText('Completed').waitFor()
    await page.getByText('Trying again…').waitFor({ state: 'detached' })
    const list = await world.service.fetch('/v1/videos?limit=100')
    const { data } = (await list.json()) as { data: { prompt: string }[] }
    assert.equal(data.filter(({ prompt }) => prompt === 'a patient fox').length, 1)
    assert.deepEqual(errors.filter(isUnexpected), [])
  })

  it('while a page is read: what was shown stays, and is read again when the database is back', async () => {
    const { page, errors } = await world.openAsOperator('/videos')
    await row(page, 'a patient fox').waitFor()
    const error = {
      message: 'The database does not respond.',
      type: 'server_error',
      param: null,
      code: 'storage_unavailable',
    }
    await page.route('**/operator/v1/**', (route) => route.fulfill({ status: 503, json: { error } }))
    await page.getByText('The database does not respond. Trying again…').waitFor()
    await row(page, 'a patient fox').waitFor()
    await world.service.submit({ ...small, prompt: 'created meanwhile' })
    await page.unroute('**/operator/v1/**')
    await row(page, 'created meanwhile').waitFor()
    await page.getByText('Trying again…').waitFor({ state: 'detached' })
    assert.deepEqual(errors.filter(isUnexpected), [])
  })
})

it('a form that is sent while the service does not respond says so, and can be sent again', async () => {
  const { page, errors } = await world.open()
  await page.goto(world.service.url)
  await page.getByLabel('Token').fill(token)
  await page.context().setOffline(true)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('The service does not respond. Try again.').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Your account' }).waitFor()
  assert.deepEqual(errors.filter(isUnexpected), [])
})

it('a link that the service could not check says why, and is tried again', async () => {
  const { page, errors } = await world.open()
  const link = await world.link()
  const error = { message: 'The database does not respond.', type: 'server_error', param: null, code: null }
  await page.route('**/console/session', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 503, json: { error } }) : route.fallback(),
  )
  await page.goto(link)
  await page.locator('.lost').getByText('The database does not respond.').waitFor()
  assert.equal(await page.getByText('already used').count(), 0)
  await page.unroute('**/console/session')
  await page.getByRole('button', { name: 'Your account' }).waitFor()
  assert.deepEqual(errors.filter(isUnexpected), [])
})

it('a stream of events that is refused is opened again, and what was missed is read', async () => {
  const { page, errors } = await world.open()
  let refused = 0
  await page.route('**/v1/videos/events*', (route) => {
    refused += 1
    return route.fulfill({ status: 503, json: {} })
  })
  await page.goto(await world.link())
  await page.getByRole('button', { name: 'Your account' }).waitFor()
  await page.getByLabel('Prompt', { exact: true }).fill('without events')
  await page.getByLabel('Length').selectOption('2')
  await page.getByLabel('Size').selectOption('640x360')
  await page.getByRole('button', { name: 'Create the video' }).click()
  const shot = page.getByRole('article', { name: 'studio' })
  await shot.waitFor()
  assert.ok(refused > 0)
  await page.unroute('**/v1/videos/events*')
  await shot.getByText('Completed').waitFor()
  assert.deepEqual(errors.filter(isUnexpected), [])
})

describe('markup and codes of terminals are text', () => {
  /** Nothing of it became an element, and nothing ran. */
  async function assertText(page: Page): Promise<void> {
    assert.equal(await page.locator('img[src="x"]').count(), 0)
    assert.equal(await page.locator('#page b').count(), 0)
    assert.match(await page.title(), /Filmgate/)
  }

  it('in a prompt, in every place that shows it', async () => {
    const made = await world.service.submit({ ...small, prompt: rude })
    const { id } = (await made.json()) as { id: string }
    await world.service.finish(id)
    for (const open of [world.openAsOperator, world.openAsClient]) {
      const { page, errors } = await open('/videos')
      await row(page, '<b>bold</b>').getByRole('link').first().waitFor()
      await assertText(page)
      await page.goto(`${world.service.url}/videos/${id}`)
      await page.getByRole('heading', { level: 1, name: '<b>bold</b>' }).waitFor()
      await assertText(page)
      await page.goto(world.service.url)
      await page.getByText('<b>bold</b>').first().waitFor()
      await assertText(page)
      assert.deepEqual(errors, [])
    }
  })

  it('in the error of a video, and in the description of a model', async () => {
    const account = { name: 'rude', provider: 'sim-rude', base_url: upstream.url, key: 'the key of rude' }
    await world.operate('/accounts', account)
    const made = await world.service.submit({ model: 'sim-rude', prompt: 'a fox', seconds: '4', size: '1280x720' })
    const { id } = (await made.json()) as { id: string }
    assert.equal((await world.service.finish(id)).status, 'failed')
    const { page, errors } = await world.openAsOperator(`/videos/${id}`)
    await page.locator('.notice').getByText('<b>bold</b>').waitFor()
    await assertText(page)
    await page.goto(`${world.service.url}/models/sim-rude`)
    await page.getByText('<b>bold</b>').first().waitFor()
    await assertText(page)
    assert.deepEqual(errors.filter(isUnexpected), [])
    // The public API does not say when it failed, so the page of a client has no times.
    const client = await world.openAsClient(`/videos/${id}`)
    await client.page.locator('.notice').getByText('<b>bold</b>').waitFor()
    assert.equal(await client.page.getByText('From request to video').count(), 0)
    assert.equal(await client.page.locator('.timeline').count(), 0)
  })

  it('in what the service says about a field', async () => {
    const { page } = await world.openAsOperator('/tokens/new')
    await page.getByLabel('Name', { exact: true }).fill('rude')
    await page.getByLabel('Addresses').fill('<b>nowhere</b>')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByRole('alert').getByText('<b>nowhere</b>').waitFor()
    await assertText(page)
  })
})
