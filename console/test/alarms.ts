import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import type { World } from './world.ts'

const small = { model: 'studio', seconds: '2', size: '640x360' }
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

/** The alarms, in the world of the other tests. */
export function testAlarms(world: () => World): void {
  /** A project whose budget is smaller than any video: its submit is refused, and that is an alarm. */
  async function raise(name: string): Promise<void> {
    const token = { name, project: `${name} shop`, spend: { total: { limit: '0.01' } } }
    const { secret } = await world().operate<{ secret: string }>('/tokens', token)
    const refused = await world().service.submit({ ...small, prompt: 'a fox' }, { authorization: `Bearer ${secret}` })
    assert.equal(refused.status, 429)
  }

  it('are shown with what to do, and acknowledged once', async () => {
    await raise('poor')
    const { page, errors } = await world().openAsOperator('/alarms')
    await heading(page, 'Alarms')
    const row = page.getByRole('row').filter({ hasText: 'Budget or limit reached' })
    await row.getByText('poor shop').first().waitFor()
    await row.getByText('What to do first:').waitFor()
    await row.getByRole('button', { name: 'Acknowledge' }).click()
    await row.getByText(/^Acknowledged by /).waitFor()
    assert.equal(await row.getByRole('button').count(), 0)
    await page.getByLabel('Show').selectOption('cleared')
    await page.waitForURL(/\/alarms\?status=cleared$/)
    // Another alarm may have come and gone on a busy machine.
    await row.waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
  })

  it('are counted in the navigation, and lead to what they are about by its name', async () => {
    const spend = { total: { limit: '0.01' } }
    const { secret } = await world().operate<{ secret: string }>('/tokens', { name: 'the poor one', spend })
    const headers = { authorization: `Bearer ${secret}` }
    assert.equal((await world().service.submit({ ...small, prompt: 'a fox' }, headers)).status, 429)
    const { page, errors } = await world().openAsOperator('/alarms')
    await page.getByRole('link', { name: /^Alarms \(\d+ active\)$/ }).waitFor()
    await page.getByRole('row').getByRole('link', { name: 'poor shop', exact: true }).waitFor()
    await page.getByRole('row').getByRole('link', { name: 'the poor one', exact: true }).click()
    await heading(page, 'the poor one')
    assert.deepEqual(errors, [])
  })

  it('are shown to a viewer, without the action', async () => {
    const viewer = { name: 'watcher', kind: 'operator', role: 'viewer' }
    const { secret } = await world().operate<{ secret: string }>('/tokens', viewer)
    await raise('second')
    const { page, errors } = await world().openWith(secret, '/alarms')
    const row = page.getByRole('row').filter({ hasText: 'second shop' })
    await row.getByText('Active', { exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Acknowledge' }).count(), 0)
    assert.deepEqual(errors, [])
  })

  it('are not for clients, like the other pages of operators', async () => {
    const { page } = await world().openAsClient('/alarms')
    for (const path of ['/alarms', '/overview', '/providers', '/providers/studio', '/money-at-risk', '/tokens']) {
      await page.goto(world().service.url + path)
      await page.getByRole('heading', { name: 'Not found' }).waitFor()
    }
    assert.equal(await page.getByRole('link', { name: 'Alarms' }).count(), 0)
  })
}
