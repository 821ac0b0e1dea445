import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { simulated } from '../../simulators/provider.ts'
import { startUpstream, type Upstream } from '../../simulators/upstream.ts'
import { providers } from '../../src/providers/index.ts'
import { until } from '../../test/service.ts'
import { openWorld, type World } from './world.ts'

/* Accounts, and attempts that may have cost money, in a real browser, with a simulated provider that misbehaves. */

const key = 'sk-a-planted-key-of-a-provider-7781'
const film = { model: 'sim-none', seconds: '4', size: '1280x720' }
let world: World
let upstream: Upstream

before(async () => {
  upstream = await startUpstream()
  world = await openWorld({ members: { ...providers, ...simulated }, world: { alarmLookMs: 200 } })
  await world.operate('/accounts', {
    name: 'main',
    provider: 'sim-none',
    base_url: upstream.url,
    key: 'the key of main',
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

async function submit(prompt: string): Promise<string> {
  const made = await world.service.submit({ ...film, prompt })
  assert.equal(made.status, 200, await made.clone().text())
  return ((await made.json()) as { id: string }).id
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const button = (place: Page | Locator, name: string) => place.getByRole('button', { name, exact: true })
const status = (page: Page, text: string) => page.locator('.status').getByText(text, { exact: true }).first().waitFor()

describe('accounts', () => {
  it('are added with a key, which is never shown, and then show their models', async () => {
    const { page, errors } = await world.openAsOperator('/providers')
    await heading(page, 'Providers')
    await page.getByRole('link', { name: 'studio', exact: true }).waitFor()
    await button(page, 'Add an account').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Provider', { exact: true }).selectOption('sim-none')
    await dialog.getByLabel('Key', { exact: true }).fill(key)
    await dialog.getByLabel('Name', { exact: true }).fill('main')
    await dialog.getByLabel('Address', { exact: true }).fill(upstream.url)
    await button(dialog, 'Add an account').click()
    await dialog.getByRole('alert').getByText('Another account has this name.').waitFor()
    assert.equal(await dialog.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true')
    await dialog.getByLabel('Name', { exact: true }).fill('second')
    await button(dialog, 'Add an account').click()
    await heading(page, 'second')
    // It is tested at once, and nothing was sent to it that could show that it works.
    await page.getByText('It is not clear whether it works:').waitFor()
    await page.waitForURL(/\/providers\/second$/)
    await status(page, 'Not used since the start')
    await page
      .getByRole('table', { name: 'Models of this account' })
      .getByRole('link', { name: 'sim-none', exact: true })
      .waitFor()
    await page.getByText('Set, ends in 7781').waitFor()
    assert.ok(!(await page.content()).includes(key))
    // The refused form is a response with 400, which the browser reports.
    assert.deepEqual(
      errors.filter((text) => !text.includes('400')),
      [],
    )
  })

  it('have a form that a link opens, which names providers and says at a field what is wrong with it', async () => {
    const { page, errors } = await world.openAsOperator('/providers?add=true')
    const dialog = page.getByRole('dialog')
    const provider = dialog.getByLabel('Provider', { exact: true })
    const key = dialog.getByLabel('Key', { exact: true })
    await provider.waitFor()
    const names = await provider.locator('option').allTextContents()
    for (const name of ['Kling', 'Seedance (ark)', 'Gemini / Veo (google)', 'sim-none'])
      assert.ok(names.includes(name), name)
    await provider.selectOption('kling')
    assert.equal(await key.getAttribute('required'), '')
    // Only the service knows what this provider needs.
    await provider.selectOption('sim-none')
    await button(dialog, 'Add an account').click()
    await dialog
      .getByRole('alert')
      .getByText(/^It is missing; write the address/)
      .waitFor()
    assert.equal(await dialog.getByLabel('Address', { exact: true }).getAttribute('aria-invalid'), 'true')
    await provider.selectOption('kling')
    assert.equal(await dialog.getByRole('alert').count(), 0)
    await button(dialog, 'Cancel').click()
    await page.waitForURL(/\/providers$/)
    assert.deepEqual(
      errors.filter((text) => !text.includes('400')),
      [],
    )
  })

  it('are tested, paused, resumed, changed, drained and removed', async () => {
    const { page, errors } = await world.openAsOperator('/providers/second')
    await heading(page, 'second')
    await button(page, 'Test').click()
    // The simulated provider has no free request.
    await page.getByText('It is not clear whether it works:').waitFor()
    await button(page, 'Pause').click()
    await status(page, 'Paused')
    await button(page, 'Resume').click()
    await status(page, 'Healthy')
    await button(page, 'Change').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Slots', { exact: true }).fill('7')
    await button(dialog, 'Change').click()
    await page.getByText('0 of 7').waitFor()
    await dialog.waitFor({ state: 'detached' })
    // What a colleague changes meanwhile stays: only what was typed is sent.
    await button(page, 'Change').click()
    await world.operate('/accounts/second', { concurrency: 9 })
    await dialog.getByLabel('Key', { exact: true }).fill(key.replace('7781', '4432'))
    await button(dialog, 'Change').click()
    await page.getByText('Set, ends in 4432').waitFor()
    await page.getByText('0 of 9').waitFor()
    await button(page, 'Drain').click()
    await status(page, 'Draining')
    await button(page, 'Remove this account').click()
    await button(page.getByRole('alertdialog'), 'Remove this account').click()
    await heading(page, 'Providers')
    await page.getByRole('link', { name: 'main', exact: true }).waitFor()
    await page.getByRole('link', { name: 'second', exact: true }).waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
  })

  it('of the configuration offer only what is not refused', async () => {
    const { page, errors } = await world.openAsOperator('/providers/studio')
    await button(page, 'Test').click()
    await page.getByText('It works:').waitFor()
    for (const name of ['Pause', 'Drain', 'Resume', 'Change', 'Remove this account'])
      assert.equal(await button(page, name).count(), 0, name)
    assert.deepEqual(errors, [])
  })

  it('do not show the test of another account', async () => {
    const { page, errors } = await world.openAsOperator('/providers/main')
    await heading(page, 'main')
    const open = async (name: string) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').getByRole('combobox').fill(name)
      await page.getByRole('option').filter({ hasText: 'Account' }).first().click()
      await heading(page, name)
    }
    await open('studio')
    await button(page, 'Test').click()
    await page.getByText('It works:').waitFor()
    await open('main')
    await button(page, 'Test').waitFor()
    assert.equal(await page.getByText('It works:').count(), 0)
    assert.deepEqual(errors, [])
  })

  it('show how long their videos took, and how many failed', async () => {
    await world.service.finish(await submit('a fox on time'))
    const { page, errors } = await world.openAsOperator('/providers/main')
    await page.getByRole('img', { name: 'Time from request to video, by day' }).locator('canvas').waitFor()
    await page.getByRole('img', { name: 'Share of videos that failed, by day' }).locator('canvas').waitFor()
    assert.deepEqual(errors, [])
  })

  it('without credit raise an alarm, which ends when the account is resumed', async () => {
    upstream.setFaults({ next: [{ fault: 'submit-402-before-accept', prompt: 'a fox on credit' }] })
    const id = await submit('a fox on credit')
    const { page, errors } = await world.openAsOperator('/providers')
    const alarm = page.getByText('An account has no credit left at its provider.')
    await alarm.waitFor()
    await page.getByRole('link', { name: 'main', exact: true }).click()
    await heading(page, 'main')
    await status(page, 'Paused automatically')
    await button(page, 'Resume').click()
    await status(page, 'Healthy')
    await alarm.waitFor({ state: 'detached' })
    assert.equal((await world.service.finish(id)).status, 'completed')
    assert.deepEqual(errors, [])
  })
})

it('a viewer sees accounts and money at risk, and no action', async () => {
  const viewer = { name: 'auditor', kind: 'operator', role: 'viewer' }
  const { secret } = await world.operate<{ secret: string }>('/tokens', viewer)
  const { page, errors } = await world.openWith(secret, '/providers/main')
  await heading(page, 'main')
  await page.getByRole('table', { name: 'Models of this account' }).waitFor()
  assert.equal(await page.locator('#page button').filter({ hasNotText: 'Copy' }).count(), 0)
  await page.getByRole('link', { name: 'Money at risk' }).click()
  await page.getByRole('heading', { name: 'Nothing to decide' }).waitFor()
  assert.equal(await page.locator('#page button').count(), 0)
  assert.deepEqual(errors, [])
})

describe('money at risk', () => {
  /** Accepted by the provider, whose response is lost. */
  async function lose(prompt: string): Promise<{ id: string; row: (page: Page) => Locator }> {
    upstream.setFaults({ next: [{ fault: 'submit-500-after-accept', prompt }] })
    const id = await submit(prompt)
    return { id, row: (page) => page.getByRole('row').filter({ hasText: prompt }) }
  }

  /** A worker may be looking at the task at this moment: then the reason is shown, and the button works again. */
  async function decide(dialog: Locator, name: string): Promise<void> {
    await until(`${name} is accepted`, async () => {
      if ((await dialog.count()) === 0) return true
      await button(dialog, name)
        .click({ timeout: 2_000 })
        .catch(() => {})
      return false
    })
  }

  it('a held attempt is adopted, and its video is completed with the job that was found', async () => {
    const { id, row } = await lose('a lost fox')
    const { page } = await world.openAsOperator()
    const searches: string[] = []
    page.on('request', (request) => request.url().includes('/operator/v1/tasks?') && searches.push(request.url()))
    await page.goto(`${world.service.url}/money-at-risk`)
    await heading(page, 'Money at risk')
    await row(page).getByText('default', { exact: true }).waitFor()
    // A search may read very many rows, and the page is read again every few seconds.
    assert.deepEqual(searches, [])
    await button(row(page), 'Adopt').click()
    const job = upstream.ledger().accepts.find(({ prompt }) => prompt === 'a lost fox')
    await page
      .getByRole('dialog')
      .getByLabel('Job at the provider')
      .fill(job?.id ?? '')
    await decide(page.getByRole('dialog'), 'Adopt')
    await row(page).waitFor({ state: 'detached' })
    assert.equal((await world.service.finish(id)).status, 'completed')
    assert.equal(upstream.ledger().accepts.filter(({ prompt }) => prompt === 'a lost fox').length, 1)
  })

  it('a held attempt is submitted again', async () => {
    const { id, row } = await lose('a fox twice')
    const { page } = await world.openAsOperator('/money-at-risk')
    await button(row(page), 'Resubmit').click()
    await page.getByText('The provider may generate, and charge for, the video twice.').waitFor()
    await decide(page.getByRole('alertdialog'), 'Resubmit')
    assert.equal((await world.service.finish(id)).status, 'completed')
  })

  it('a decision about an attempt is not applied to the next one', async () => {
    const prompt = 'a fox of two operators'
    const { id, row } = await lose(prompt)
    const { page } = await world.openAsOperator('/money-at-risk')
    await button(row(page), 'Resubmit').click()
    // The page does not learn what the other operator does.
    await page.route('**/operator/v1/attempts?**', () => {})
    upstream.setFaults({ next: [{ fault: 'submit-500-after-accept', prompt }] })
    const resubmit = () => world.operate(`/tasks/${id}/resubmit`, {}).catch(() => undefined)
    await until('another operator has submitted it again', resubmit)
    const shown = () => world.service.operator<{ state: string; attempts: { state: string }[] }>(`/tasks/${id}`)
    await until('that response is lost, too', async () => {
      const { state, attempts } = await shown()
      return state === 'held' && attempts.length === 2
    })
    const dialog = page.getByRole('alertdialog')
    const refusal = dialog.getByText(/The open attempt of task .* is .* Look for that one at the provider/)
    await until('the decision is refused', async () => {
      await button(dialog, 'Resubmit').click()
      return (await refusal.count()) > 0
    })
    assert.equal((await shown()).attempts.length, 2)
    await until('it is given up', () => world.operate(`/tasks/${id}/give_up`, {}).catch(() => undefined))
  })

  it('a held attempt is given up, and is listed as abandoned at an address of its own', async () => {
    const { id, row } = await lose('a fox given up')
    const { page } = await world.openAsOperator('/money-at-risk')
    await button(row(page), 'Give up').click()
    await decide(page.getByRole('alertdialog'), 'Give up')
    const { status: ended, error } = (await world.service.finish(id)) as { status: string; error: { code: string } }
    assert.deepEqual([ended, error.code], ['failed', 'submission_unknown'])
    await page.getByRole('link', { name: 'Abandoned' }).click()
    await page.waitForURL(/\/money-at-risk\?show=abandoned$/)
    const abandoned = page.getByRole('table', { name: 'Abandoned' }).getByRole('link', { name: 'a fox given up' })
    await abandoned.waitFor()
    await page.reload()
    await abandoned.click()
    await heading(page, 'a fox given up')
  })
})

describe('models', () => {
  it('are paused and resumed', async () => {
    const { page, errors } = await world.openAsOperator('/models/studio')
    await button(page, 'Pause this model').click()
    await page.getByText('This model is paused.').waitFor()
    const client = await world.openAsClient('/?model=studio')
    await client.page.getByText('Choose another model: the operator paused studio.').waitFor()
    const refused = await world.service.submit({ model: 'studio', prompt: 'a fox', seconds: '1', size: '256x256' })
    assert.equal(refused.status, 404)
    await button(page, 'Resume this model').click()
    await button(page, 'Pause this model').waitFor()
    const made = await world.service.submit({ model: 'studio', prompt: 'a fox', seconds: '1', size: '256x256' })
    assert.equal(made.status, 200)
    assert.deepEqual(errors, [])
  })

  it('have a price of their own', async () => {
    const { page, errors } = await world.openAsOperator('/models/studio')
    await button(page, 'Set a price').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Price', { exact: true }).fill('0.05')
    await dialog.getByLabel('Charged').selectOption('video')
    await button(dialog, 'Set a price').click()
    await page.locator('.quoted').getByText('US$0.05').waitFor()
    await button(page, 'Remove the price').click()
    await button(page.getByRole('alertdialog'), 'Remove the price').click()
    await page.locator('.quoted').getByText('US$0.05').waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
  })

  it('get other names, which are removed again', async () => {
    const { page, errors } = await world.openAsOperator('/models/studio')
    await button(page, 'Add an alias').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Alias', { exact: true }).fill('team/fox')
    await button(dialog, 'Add an alias').click()
    await heading(page, 'team/fox')
    await page.getByText('Alias of studio').waitFor()
    await button(page, 'Remove this alias').click()
    await button(page.getByRole('alertdialog'), 'Remove this alias').click()
    await heading(page, 'Models')
    await page.getByRole('link', { name: 'team/fox' }).waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
  })

  it('show the health of their routes', async () => {
    const { page, errors } = await world.openAsOperator('/models/sim-none')
    const routes = page.getByRole('table', { name: 'Routes' })
    await routes.getByText('Healthy').waitFor()
    await routes.getByRole('link', { name: 'main', exact: true }).click()
    await heading(page, 'main')
    assert.deepEqual(errors, [])
  })

  it('without a price say what the operator can do, apart from the buttons', async () => {
    const { page, errors } = await world.openAsOperator('/models/sim-none')
    const notice = page.locator('.notice').filter({ hasText: 'No price' })
    assert.match((await notice.textContent()) ?? '', /'sim-none' has no price.* Set a price here, or in prices\./)
    assert.doesNotMatch((await notice.textContent()) ?? '', /your operator/)
    const [above, below] = [await notice.boundingBox(), await button(page, 'Set a price').boundingBox()]
    assert.ok(above && below && below.y - (above.y + above.height) >= 8)
    assert.deepEqual(errors, [])
  })
})
