import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { simulators } from '../../simulators/index.ts'
import { startUpstream, type Upstream } from '../../simulators/upstream.ts'
import { until } from '../../test/service.ts'
import { openWorld, type World } from './world.ts'

/* What a video costs if no price applies to its token, and why one waits or fails, in a real browser. */

let world: World
let upstream: Upstream

before(async () => {
  // Its results are at another port, which the configuration does not allow.
  const { wire, key } = simulators.kling.open()
  upstream = await startUpstream({ wire, speed: 0 })
  world = await openWorld()
  await world.operate('/accounts', { name: 'kling', provider: 'kling', base_url: upstream.url, key })
  await world.operate('/accounts', { name: 'dead', provider: 'fal', base_url: 'http://127.0.0.1:9', key: 'key' })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

async function submit(body: object, secret?: string): Promise<string> {
  const made = await world.service.submit(body, secret ? { authorization: `Bearer ${secret}` } : {})
  assert.equal(made.status, 200, await made.clone().text())
  return ((await made.json()) as { id: string }).id
}

const quotes = (page: Page) => page.getByRole('list', { name: 'Price, time and position in the queue' })

describe('the price of a video', () => {
  it('is not said to be nothing if only the token does not pay it', async () => {
    const { page, errors } = await world.openAsOperator('/?model=kling-3.0')
    await quotes(page).getByText('Not charged to this token').waitFor()
    await quotes(page).getByText('The provider charges about US$0.42.').waitFor()
    assert.equal(await quotes(page).getByText('Free').count(), 0)
    await page.getByLabel('Size').selectOption('3840x2160')
    await quotes(page).getByText('The cost at the provider is unknown.').waitFor()
    await page.goto(`${world.service.url}/?model=studio`)
    await quotes(page).getByText('Free').waitFor()
    const client = await world.openAsClient('/?model=kling-3.0')
    await quotes(client.page).getByText('Not charged to this token').waitFor()
    assert.equal(await client.page.getByText('The provider charges').count(), 0)
    assert.deepEqual([...errors, ...client.errors], [])
  })

  it('is on its page what the client pays and the provider charged, with the name of the token', async () => {
    const token = { name: 'acme', spend: { total: { limit: '1' } } }
    const { id: tokenId, secret } = await world.operate<{ id: string; secret: string }>('/tokens', token)
    const id = await submit({ model: 'kling-3.0', prompt: 'a priced fox', seconds: '5' }, secret)
    const { page, errors } = await world.openAsOperator(`/videos/${id}`)
    const fact = (name: string) => page.locator('.facts div').filter({ has: page.getByText(name, { exact: true }) })
    await fact('The client pays').getByText('Up to US$0.42').waitFor()
    await page.getByRole('table', { name: 'Entries in the ledger' }).getByText('Reserved for acme').waitFor()
    await fact('Project').getByRole('link', { name: 'acme' }).click()
    await page.waitForURL(`**/tokens/${tokenId}`)
    const unpriced = await submit({ model: 'kling-3.0', prompt: 'an unpriced fox', seconds: '5' })
    await page.goto(`${world.service.url}/videos/${unpriced}`)
    await page.getByText('Nothing was charged: no price applied to the token').waitFor()
    await page.getByText('The provider charges about US$0.42.').waitFor()
    const free = await world.createVideo('a free fox')
    await page.goto(`${world.service.url}/videos/${free}`)
    await page.getByText('The video is free.').waitFor()
    assert.deepEqual(errors, [])
  })
})

describe('the reason', () => {
  it('why a result is not used is shown while it is tried again, and that time is not the model’s', async () => {
    const id = await submit({ model: 'kling-3.0', prompt: 'a refused fox', seconds: '5' })
    const { page, errors } = await world.openAsOperator(`/videos/${id}`)
    const table = page.getByRole('table', { name: 'What happened' })
    await table.getByText('Result unusable: requesting a new link').waitFor()
    await table.getByText('add it to outbound.allow in filmgate.yaml').waitFor()
    await table.getByText(/^\d+ times$/).waitFor()
    const legend = await page.locator('.timeline li').allTextContents()
    assert.equal(legend.filter((text) => text.startsWith('Generation')).length, 1, legend.join(', '))
    assert.equal(legend.filter((text) => text.startsWith('Waiting for the next try')).length, 1, legend.join(', '))
    await page.getByRole('table', { name: 'Attempts' }).getByText('Accepted').waitFor()
    await page.locator('.facts').getByRole('link', { name: 'kling', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'kling', exact: true }).waitFor()
    assert.deepEqual(errors, [])
  })

  it('why a video does not start is shown to operators, on its page and in the playground', async () => {
    const id = await submit({ model: 'fal/wan-2.7', prompt: 'a fox at a dead address' })
    await until('the account is paused', async () => {
      const { health } = await world.operate<{ health: { state: string } }>('/accounts/dead', {})
      return health.state !== 'ok'
    })
    const { page, errors } = await world.openAsOperator(`/videos/${id}`)
    for (const path of [`/videos/${id}`, `/?shown=${encodeURIComponent(JSON.stringify([id]))}`]) {
      await page.goto(world.service.url + path)
      const reason = page.getByRole('status').filter({ hasText: 'No account of this model works now.' })
      await reason.getByText('The provider does not respond, or its responses are invalid.').waitFor()
      await reason.getByRole('link', { name: 'dead' }).waitFor()
    }
    assert.equal(await page.getByText('Waiting for a free slot.').count(), 0)
    assert.deepEqual(errors, [])
  })
})
