import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { openWorld, settings, type World } from './world.ts'

/* Every page in a real browser, on a real service, with something on each: axe, and nothing beside the screen. */

let world: World
let everyPage: readonly string[]

interface Created {
  id: string
}

before(async () => {
  world = await openWorld({ yaml: JSON.stringify({ ...settings, outbound: { allow: ['127.0.0.1'] } }) })
  // Nothing listens there: it has deliveries that wait.
  const hook = { name: 'closed port', url: 'http://127.0.0.1:9/hook', event_types: ['video.completed'] }
  const created = await world.service.fetch('/v1/webhook_endpoints', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(hook),
  })
  const endpoint = (await created.json()) as Created
  const film = await world.createVideo('a red fox in snow at dusk')
  const long = await world.createVideo(`${'a very long prompt with many words '.repeat(44)}and its end`)
  // Its submit is refused, which is an alarm.
  const poor = { name: 'poor', metadata: { note: '=1+1, "quoted"' }, spend: { total: { limit: '0.01' } } }
  const { id, secret } = await world.operate<Created & { secret: string }>('/tokens', poor)
  const body = { model: 'studio', prompt: 'a fox', seconds: '2', size: '640x360' }
  const refused = await world.service.submit(body, { authorization: `Bearer ${secret}` })
  assert.equal(refused.status, 429)
  everyPage = [
    ...['/', '/videos', `/videos/${film}`, `/videos/${long}`, '/videos/nothing', '/models', '/models/studio'],
    ...['/providers', '/providers/studio', '/money-at-risk'],
    ...['/overview', '/alarms', '/audit', '/settings'],
    ...['/tokens', '/tokens/new', '/tokens/config:default', `/tokens/${id}`],
    ...['/usage', '/webhooks', '/webhooks/new', `/webhooks/${endpoint.id}`],
  ]
})
after(() => world[Symbol.asyncDispose]())

describe('every page, light and dark, wide and narrow', () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } }
  for (const colorScheme of ['light', 'dark'] as const)
    for (const [name, viewport] of Object.entries(sizes))
      it(`${colorScheme}, ${name}: has no serious issue, and nothing beside the screen`, async () => {
        const { page, errors } = await world.open({ colorScheme, viewport, bypassCSP: true })
        await page.goto(world.service.url)
        await page.getByRole('heading', { level: 1, name: 'Sign in to Filmgate' }).waitFor()
        await assertAccessible(page, 'the form')
        await world.signInByLink(page)
        for (const path of everyPage) {
          await page.goto(world.service.url + path)
          await page.locator('#page :is(h1, h2)').first().waitFor()
          await page.waitForLoadState('networkidle')
          await assertAccessible(page, path)
          const beside = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
          assert.ok(Number(beside) <= 0, `${path} is ${beside} pixels too wide`)
        }
        const unexpected = errors.filter((text) => !text.includes('404'))
        assert.deepEqual(unexpected, [])
      })

  async function assertAccessible(page: Page, where: string): Promise<void> {
    await page.addScriptTag({ content: axe })
    const found = (await page.evaluate('axe.run()')) as {
      violations: { id: string; impact: string; nodes: { html: string }[] }[]
    }
    const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    assert.deepEqual(
      serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
      [],
      where,
    )
  }
})
