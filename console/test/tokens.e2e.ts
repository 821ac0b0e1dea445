import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { operatorToken, until } from '../../test/service.ts'
import { type Receiver, startReceiver } from '../../test/webhook-world.ts'
import { openWorld, settings, type World } from './world.ts'

/* Tokens, usage and webhooks in a real browser, on a real service. */

let world: World
let receiver: Receiver

before(async () => {
  receiver = await startReceiver()
  world = await openWorld({ yaml: JSON.stringify({ ...settings, outbound: { allow: ['127.0.0.1'] } }) })
  await world.createVideo('a red fox in snow at dusk')
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

/** A request with the secret of a token, as the copied curl sends it. */
async function create(secret: string): Promise<{ status: number; code: string | undefined }> {
  // 2 seconds at 0.05 each.
  const body = { model: 'studio', prompt: 'a whale', seconds: '2', size: '640x360' }
  const response = await world.service.submit(body, { authorization: `Bearer ${secret}` })
  const { error } = (await response.json()) as { error?: { code: string } | null }
  return { status: response.status, code: error?.code }
}

/** 4 seconds: 0.20. */
async function createUsual(secret: string): Promise<void> {
  const body = { model: 'studio', prompt: 'a whale', seconds: '4', size: '640x360' }
  const response = await world.service.submit(body, { authorization: `Bearer ${secret}` })
  assert.equal(response.status, 200)
}

const createToken = (body: object) => world.operate<{ id: string; secret: string }>('/tokens', body)

async function secretOf(page: Page, title: string): Promise<string> {
  const text = await page.getByRole('region', { name: title }).locator('.id code').textContent()
  return text ?? ''
}

describe('tokens', () => {
  it('say when the next video does not fit into a budget, before it is refused, with dates of the reader', async () => {
    const { id, secret } = await createToken({ name: 'short', spend: { month: { limit: '0.5' } } })
    for (let at = 0; at < 2; at += 1) await createUsual(secret)
    const operator = await world.openAsOperator(`/tokens/${id}`)
    await operator.page.getByText('US$0.40 of US$0.50').waitFor()
    await operator.page.getByText('The next video (studio, up to US$0.20) does not fit.').waitFor()
    const notice = operator.page.getByText('The monthly budget has US$0.10 left.')
    assert.match((await notice.textContent()) ?? '', /costs up to US\$0\.20, and is refused\. It resets at 1 \w+ \d{4}/)
    assert.deepEqual(operator.errors, [])

    const zone = { timezoneId: 'Asia/Tokyo' }
    const { page } = await world.openWith(secret, '/', zone)
    await page.getByText('The monthly budget does not allow this: US$0.40 of US$0.50').waitFor()
    await page.getByLabel('Prompt', { exact: true }).fill('one too many')
    await page.getByRole('button', { name: 'Create the video' }).click()
    const refusal = page.getByRole('alert').filter({ hasText: 'The spend cap' })
    // The first midnight of the month in UTC is 9 o'clock in Tokyo.
    assert.match((await refusal.textContent()) ?? '', /The cap resets at 1 \w+ \d{4}, 09:00:00, when/)
    assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /\dT\d\d:\d\d/)
    // A shorter one fits.
    await page.getByLabel('Length').selectOption('2')
    await page.getByText('The monthly budget does not allow this').waitFor({ state: 'detached' })
  })

  it('are created with a budget, used, capped, changed, rotated and revoked', async () => {
    const { page, errors } = await world.openAsOperator('/tokens')
    await heading(page, 'Tokens')
    await page.getByRole('row').filter({ hasText: 'config:default' }).getByText('In the configuration').waitFor()
    await page.getByRole('link', { name: 'Create a token' }).click()
    await page.getByLabel('Name', { exact: true }).fill('anna')
    await page.getByLabel('Monthly budget').fill('0.1')
    await page.getByRole('button', { name: 'Create a token' }).click()
    const secret = await secretOf(page, 'The secret of anna')
    assert.match(secret, /^fg_[0-9a-z]{12}_\w{28}$/)
    assert.ok((await page.locator('.secret pre').first().textContent())?.includes(`Bearer ${secret}`))
    assert.equal((await create(secret)).status, 200)
    assert.equal((await create(secret)).code, 'insufficient_quota')

    await page.getByRole('link', { name: 'Go to the token' }).click()
    await page.getByText('The monthly budget is spent.').waitFor()
    assert.doesNotMatch(await page.content(), new RegExp(secret))
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Monthly budget').fill('5')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('US$0.10 of US$5.00').waitFor()
    assert.equal(await page.getByText('The monthly budget is spent.').count(), 0)
    assert.equal((await create(secret)).status, 200)

    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page.getByLabel('The old secret ends').selectOption('At once')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate the secret' }).click()
    const second = await secretOf(page, 'The secret of anna')
    assert.deepEqual([(await create(secret)).status, (await create(second)).status], [401, 200])

    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await page.locator('.head .status').getByText('Revoked').waitFor()
    assert.equal(await page.locator('.danger').count(), 0)
    assert.equal((await create(second)).status, 401)
    assert.deepEqual(errors, [])
  })

  it('that are revoked say nothing of their budget, and their alarm ends', async () => {
    const { id, secret } = await createToken({ name: 'poor', spend: { total: { limit: '0.1' } } })
    assert.equal((await create(secret)).status, 200)
    assert.equal((await create(secret)).code, 'insufficient_quota')
    const hasAlarm = async () => {
      const headers = { authorization: `Bearer ${operatorToken}` }
      const response = await world.service.fetch('/operator/v1/alarms', { headers })
      const { data } = (await response.json()) as { data: { subject: string }[] }
      return data.some(({ subject }) => subject === id)
    }
    await until('the alarm is raised', hasAlarm)
    const { page, errors } = await world.openAsOperator(`/tokens/${id}`)
    const notice = page.getByText('The total budget is spent.')
    await notice.waitFor()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await notice.waitFor({ state: 'detached' })
    await until('the alarm has ended', async () => !(await hasAlarm()))
    assert.deepEqual(errors, [])
  })

  it('say at the field what is wrong with it', async () => {
    const { page } = await world.openAsOperator('/tokens/new')
    await page.getByLabel('Name', { exact: true }).fill('default')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByRole('alert').getByText('which is reserved').waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Name', { exact: true }).fill('berta')
    await page.getByLabel('Addresses').fill('nowhere')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByRole('alert').getByText("ip_ranges has 'nowhere'.").waitFor()
  })

  it('say what is wrong where the reader looks, also on a small screen', async () => {
    const { page } = await world.openAsOperator('/tokens/new', { viewport: { width: 390, height: 500 } })
    const submit = page.getByRole('button', { name: 'Create a token' })
    /** On the screen, and not below the bar. */
    const isSeen = (text: string) =>
      page
        .getByRole('alert')
        .filter({ hasText: text })
        .evaluate((element) => {
          const { left, top, bottom } = element.getBoundingClientRect()
          return [top + 2, bottom - 2].every((y) => element.contains(document.elementFromPoint(left + 2, y)))
        })
    await page.getByLabel('Name', { exact: true }).fill('default')
    await submit.click()
    await page.getByRole('alert').waitFor()
    assert.ok(await isSeen('which is reserved'))
    assert.ok(await page.getByLabel('Name', { exact: true }).evaluate((field) => field === document.activeElement))
    const error = { message: 'Nothing works.', type: 'server_error', param: null, code: null }
    await page.route('**/operator/v1/tokens', (route) => route.fulfill({ status: 500, json: { error } }))
    await submit.click()
    await page.getByText('Nothing works.').waitFor()
    assert.ok(await isSeen('Nothing works.'))
  })

  it('whose response is lost may exist: the page says so', async () => {
    const { page } = await world.openAsOperator('/tokens/new')
    await page.route('**/operator/v1/tokens', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      await route.fetch()
      await route.abort()
    })
    await page.getByLabel('Name', { exact: true }).fill('a lost token')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByText('if a lost token is there, rotate its secret').waitFor()
  })

  it('of a project are listed by the address', async () => {
    await createToken({ name: 'carla', project: 'films' })
    const { page, errors } = await world.openAsOperator('/tokens?project=films')
    await page.getByRole('link', { name: 'carla' }).waitFor()
    assert.equal(await page.locator('tbody tr').count(), 1)
    await page.getByLabel('Project').fill('nothing')
    await page.getByLabel('Project').press('Enter')
    await page.getByText('No token belongs to this project').waitFor()
    await page.waitForURL(/\/tokens\?project=nothing$/)
    await page.getByRole('link', { name: 'Show all tokens' }).first().click()
    await page.getByRole('link', { name: 'default' }).waitFor()
    assert.deepEqual(errors, [])
  })

  it('that someone is signed in with are not ended there, and their new secret is not lost', async () => {
    const { id, secret } = await createToken({ name: 'ops', kind: 'operator' })
    const { page, errors } = await world.openWith(secret, `/tokens/${id}`)
    await page.getByText('You are signed in with this token.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate the secret' }).click()
    assert.notEqual(await secretOf(page, 'The secret of ops'), secret)
    await page.reload()
    await page.getByText('The old secret is also accepted, until').waitFor()
    assert.deepEqual(errors, [])
  })

  it('are shown to a viewer without any action, and to a client not at all', async () => {
    const { secret } = await createToken({ name: 'auditor', kind: 'operator', role: 'viewer' })
    const { page, errors } = await world.openWith(secret, '/tokens')
    await page.getByRole('link', { name: 'auditor' }).click()
    await heading(page, 'auditor')
    assert.equal(await page.locator('#page button:not(.copy)').count(), 0)
    assert.equal(await page.getByRole('link', { name: 'Webhooks' }).count(), 0)
    assert.deepEqual(errors, [])
    const client = await world.openAsClient('/usage')
    assert.equal(await client.page.getByRole('link', { name: 'Tokens' }).count(), 0)
  })
})

describe('usage', () => {
  it('is grouped by the address, leads into a group, and is a CSV file', async () => {
    const { page, errors } = await world.openAsOperator('/usage')
    await heading(page, 'Usage')
    await page.locator('.chart canvas').waitFor()
    await page.getByRole('table', { name: 'By Model' }).getByRole('link', { name: 'studio' }).click()
    await page.waitForURL((url) => url.searchParams.get('model') === 'studio' && url.searchParams.get('by') === 'token')
    await page.getByRole('table', { name: 'By Token' }).getByRole('link', { name: 'default' }).waitFor()
    await page.getByRole('link', { name: 'Remove this filter' }).click()
    await page.getByLabel('Group by').selectOption('Account')
    await page.getByLabel('Chart').selectOption('Revenue')
    await page.getByRole('table', { name: 'By Account' }).waitFor()
    await page.waitForURL(/by=account/)
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download CSV' }).click()
    const download = await downloading
    assert.equal(download.suggestedFilename(), 'usage.csv')
    assert.match(readFileSync(await download.path(), 'utf8'), /^account,day,tasks,.*\r\n[\w-]*,\d{4}-\d\d-\d\d,/)
    assert.deepEqual(errors, [])
  })

  it('of a client has what they pay, and nothing about accounts', async () => {
    const { page, errors } = await world.openAsClient('/usage?by=account&measure=revenue')
    await page.getByRole('columnheader', { name: 'You pay' }).waitFor()
    assert.deepEqual(await page.getByLabel('Group by').locator('option').allTextContents(), ['Model', 'Token', 'Error'])
    assert.deepEqual(errors, [])
  })
})

it('webhook endpoints are created, tested, and their deliveries replayed', async () => {
  const { page, errors } = await world.openAsClient('/webhooks')
  await page.getByText('No webhook endpoints').waitFor()
  await page.getByRole('link', { name: 'Create an endpoint' }).click()
  await page.getByLabel('Name', { exact: true }).fill('films')
  await page.getByLabel('URL').fill(`${receiver.url}/hook`)
  await page.getByRole('button', { name: 'Create an endpoint' }).click()
  assert.match(await secretOf(page, 'The signing secret of films'), /^whsec_/)
  await page.getByRole('link', { name: 'Show the endpoint' }).click()
  await page.getByRole('button', { name: 'Send a test event' }).click()
  await page.getByText('The endpoint accepted the event with status 200.').waitFor()
  await page.getByText(/Tests are not listed\.$/).waitFor()

  // A change sends only what was changed in its form: another one was saved meanwhile.
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('all films')
  const id = page.url().split('/').at(-1)
  const moved = await world.service.fetch(`/v1/webhook_endpoints/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${receiver.url}/moved` }),
  })
  assert.equal(moved.status, 200)
  await page.locator('.head').getByText(`${receiver.url}/moved`).waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'all films' }).waitFor()
  await page.locator('.head').getByText(`${receiver.url}/moved`).waitFor()

  receiver.handle = (_, response) => void response.writeHead(500).end()
  await world.createVideo('a whale')
  const table = page.getByRole('table', { name: 'Deliveries' })
  await table.getByText('the last one: 500').waitFor()
  receiver.handle = (_, response) => void response.end('ok')
  await table.getByRole('button', { name: /^Replay/ }).click()
  await table.getByText('Delivered').waitFor()
  await page.getByLabel('Status').selectOption('Failed')
  await page.waitForURL(/state=failed/)
  await page.getByText('No delivery has this status.').waitFor()

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No webhook endpoints').waitFor()
  // The page may ask for the endpoint once more before it is left.
  const unexpected = errors.filter((text) => !text.includes('404'))
  assert.deepEqual(unexpected, [])
})
