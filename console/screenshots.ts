import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fromUsage, usageColumns } from '../src/core/usage.ts'
import { startScripted } from '../test/scripted-upstream.ts'
import { until } from '../test/service.ts'
import { openWorld, settings } from './test/world.ts'

/* `npm run screenshots`: each page at 1440 and 390 pixels, light and dark, below console/screenshots; and the two pictures of README.md. */

const folder = join(import.meta.dirname, 'screenshots')
mkdirSync(folder, { recursive: true })
await using upstream = await startScripted()
const engine = { provider: 'openai', base_url: upstream.url, key: 'none' }
// Accounts without a real key: their models are listed, and nothing is sent to them.
const yaml = JSON.stringify({
  ...settings,
  prices: { ...settings.prices, unpriced: 'free' },
  outbound: { allow: ['127.0.0.1'] },
  accounts: { kling: { key: 'none' }, google: { key: 'none' }, engine },
})
await using world = await openWorld({ yaml })
// A receiver of webhooks.
await using receiver = createServer((_, response) => void response.end()).listen(0, '127.0.0.1')
await once(receiver, 'listening')
// A token with a budget, and an endpoint.
interface Created {
  id: string
  secret: string
}
const spend = { month: { limit: '0.25' } }
const wanted = { name: 'anna', project: 'trailers', models: ['studio'], rate: 30, concurrency: 2, spend }
const anna = await world.operate<Created>('/tokens', wanted)
const endpoint = await createEndpoint('production', (receiver.address() as AddressInfo).port)
const prompts = [
  'a red fox in snow at dusk',
  'a lighthouse in a storm, slow pan',
  'a paper boat on a calm lake at sunrise',
]
const ids = await Promise.all(prompts.map((prompt) => world.createVideo(prompt)))
const compared = await Promise.all(['studio', 'sora-2'].map(createCompared))
// One that is running while the pictures are taken.
await world.service.submit({
  model: 'studio',
  prompt: 'a steam train crossing a viaduct',
  seconds: '20',
  size: '1280x720',
})

// Its first video spends most of its budget.
const small = { model: 'studio', prompt: 'a kite above the dunes', seconds: '4', size: '640x360' }
await world.service.submit(small, { authorization: `Bearer ${anna.secret}` })
// A project that reaches its budget, which is an alarm.
const poor = { name: 'shop', project: 'shop', spend: { total: { limit: '0.01' } } }
const shop = await world.operate<Created>('/tokens', poor)
await world.service.submit({ model: 'studio', prompt: 'a fox' }, { authorization: `Bearer ${shop.secret}` })

// One that failed, whose end is not delivered everywhere, and one whose response was lost.
await createEndpoint('staging', 9)
await until('the model of the engine is known', async () => (await world.service.fetch('/v1/models/film')).ok)
const film = { model: 'film', seconds: '4', size: '1280x720' }
upstream.status = 'failed'
const bad = await world.service.submit({ ...film, prompt: 'a ship in a bottle' })
await world.service.finish(((await bad.json()) as Created).id)
upstream.onSubmit = (response) => void response.destroy()
await world.service.submit({ ...film, prompt: 'a balloon above the clouds' })
writeHistory()

const compare = `/?${new URLSearchParams({ model: '["studio","sora-2"]', shown: JSON.stringify(compared) })}`
const pages = {
  ...{ playground: '/', compare, overview: '/overview', videos: '/videos', video: `/videos/${ids[0]}` },
  ...{ models: '/models', model: '/models/studio' },
  ...{ providers: '/providers', provider: '/providers/studio', 'money-at-risk': '/money-at-risk' },
  ...{ tokens: '/tokens', token: `/tokens/${anna.id}`, 'new-token': '/tokens/new', usage: '/usage' },
  ...{ webhooks: '/webhooks', webhook: `/webhooks/${endpoint.id}`, 'new-webhook': '/webhooks/new' },
  ...{ alarms: '/alarms', audit: '/audit', settings: '/settings', docs: '/docs', 'docs-model': '/docs/models/studio' },
}
for (const colorScheme of ['light', 'dark'] as const)
  for (const width of [1440, 390]) {
    const viewport = { width, height: width === 390 ? 844 : 900 }
    const { page } = await world.open({ colorScheme, viewport })
    // The reference is filled while it is scrolled.
    const shoot = (name: string) =>
      page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: name !== 'docs' })
    await page.goto(world.service.url)
    await page.getByRole('heading').waitFor()
    await shoot('sign-in')
    await world.signInByLink(page)
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(world.service.url + path)
      await page.locator('h1').first().waitFor()
      await page.waitForLoadState('networkidle')
      await shoot(name)
    }
  }

await shootInChinese()
await shootForReadme('console-1', compare, 'light')
await shootForReadme('console-2', `/videos/${ids[0]}`, 'dark')

/** What ended in the last 30 days: charts have something to draw. */
function writeHistory(): void {
  // The service writes as well.
  using database = new DatabaseSync(join(world.service.data, 'filmgate.db'), { timeout: 10_000 })
  const insert = database.prepare(`INSERT INTO usages (${usageColumns}) VALUES (${usageColumns.map(() => '?')})`)
  const [hourMs, hours] = [3_600_000, 30 * 24]
  const models = ['kling-3.0', 'gemini-omni-1.2-flash', 'kling-3.0-turbo', 'studio'] as const
  const accounts = {
    'kling-3.0': 'kling',
    'kling-3.0-turbo': 'kling',
    'gemini-omni-1.2-flash': 'google',
    studio: 'studio',
  }
  database.exec('BEGIN IMMEDIATE')
  for (let hour = 1; hour <= hours; hour += 1) {
    const waves = 4 * Math.sin((hour / 24) * 2 * Math.PI) + 3 * Math.sin((hour / 168) * 2 * Math.PI)
    const many = Math.round(7 + waves + ((hour * 7) % 4))
    for (let one = 0; one < many; one += 1) {
      const which = hour * 13 + one * 5
      const model = models[which % models.length] ?? 'studio'
      const hasFailed = which % 23 === 0
      const [owner, token] = which % 3 === 0 ? ['trailers', anna.id] : ['default', 'config:default']
      const id = `video_past_${hour}_${one}`
      const at = Date.now() - hour * hourMs
      const ended = { outcome: hasFailed ? 'failed' : 'completed', code: hasFailed ? 'content_policy' : null } as const
      const money = { revenue: hasFailed ? 0 : 600_000, cost: hasFailed ? 0 : 420_000, currency: 'USD' }
      const took = { seconds: 5, tookMs: 40_000 + ((which * 977) % 60_000) }
      insert.run(
        ...fromUsage({ id, at, task: id, owner, token, model, account: accounts[model], ...ended, ...took, ...money }),
      )
    }
  }
  database.exec('COMMIT')
}

async function createEndpoint(name: string, port: number): Promise<Created> {
  const body = { name, url: `http://127.0.0.1:${port}/hook`, event_types: ['video.completed', 'video.failed'] }
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return (await (await world.service.fetch('/v1/webhook_endpoints', sent)).json()) as Created
}

/** The same prompt, drawn differently by each. */
async function createCompared(model: string, seed: number): Promise<string> {
  const wanted = { model, prompt: 'a kite over dunes', seconds: '2', size: '640x360', seed }
  const { id } = (await (await world.service.submit(wanted)).json()) as Created
  await world.service.finish(id)
  return id
}

async function shootInChinese(): Promise<void> {
  const { page } = await world.open()
  await world.signInByLink(page)
  await page.evaluate(() => localStorage.setItem('filmgate', JSON.stringify({ language: 'zh' })))
  for (const name of ['playground', 'overview', 'video', 'new-token', 'settings'] as const) {
    await page.goto(world.service.url + pages[name])
    await page.locator('h1').first().waitFor()
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: join(folder, `${name}-1440-zh.png`), fullPage: true })
  }
}

async function shootForReadme(name: string, path: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const { page } = await world.open({ colorScheme, viewport: { width: 1280, height: 900 } })
  await world.signInByLink(page)
  await page.goto(world.service.url + path)
  await page.locator('h1').first().waitFor()
  const prompt = page.getByLabel('Prompt', { exact: true })
  if (await prompt.count()) await prompt.fill('a kite over dunes')
  await page.waitForLoadState('networkidle')
  // A frame of each video, and not the sign that it is loading.
  for (const video of await page.locator('video').all())
    await video.evaluate(async (element: HTMLVideoElement) => {
      element.muted = true
      await element.play()
      element.pause()
    })
  await page.screenshot({ path: join(import.meta.dirname, '..', 'docs', 'images', `${name}.png`) })
}
