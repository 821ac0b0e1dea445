import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import { assertPlays, type World } from './world.ts'

/** The playground, in the world of the other tests. */
export function testPlayground(world: () => World): void {
  it('quotes, creates and plays a video, and shows it again at the same address', async () => {
    const { page, errors } = await world().openAsOperator()
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor()
    const quotes = page.getByRole('list', { name: 'Price, time and position in the queue' })
    await quotes.getByText('US$0.20').waitFor()
    await quotes.getByText(/^Position \d+ in the queue$/).waitFor()
    await page.getByText('Write a prompt first.').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Create the video' }).isDisabled())
    await describeVideo(page, 'a paper boat', '2')
    await quotes.getByText('US$0.10').waitFor()
    await page.getByRole('tab', { name: 'Python' }).click()
    await page.getByText('prompt="a paper boat"').waitFor()
    await page.getByLabel('Prompt', { exact: true }).press('Control+Enter')
    const shot = page.getByRole('article', { name: 'studio' })
    await shot.getByText('Completed').waitFor()
    await shot.getByText('US$0.10').waitFor()
    await assertPlays(page)
    await page.getByRole('link', { name: 'a paper boat' }).waitFor()
    await page.reload()
    await shot.getByText('Completed').waitFor()
    assert.deepEqual(errors, [])
  })

  it('creates one video for one filled form, however often it is clicked, until another one is wanted', async () => {
    const { page, errors } = await world().openAsClient()
    const last = 'a double click'
    await describeVideo(page, last, '2')
    const place = await page.getByRole('button', { name: 'Create the video' }).boundingBox()
    assert.ok(place)
    const [x, y] = [place.x + 20, place.y + place.height / 2]
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let sent = 0
    await page.route(/\/v1\/videos$/, async (route) => {
      sent += 1
      await released
      await route.continue()
    })
    // Twice before the response, and twice after it.
    await page.mouse.click(x, y, { clickCount: 2 })
    await page.getByRole('button', { name: 'Create the video', disabled: true }).waitFor()
    await page.mouse.click(x, y)
    release()
    await page.getByText('The video is created. The button shows it again').waitFor()
    await page.mouse.click(x, y, { clickCount: 2 })
    await page.getByRole('button', { name: 'Show the video' }).click()
    await page.getByRole('article', { name: 'studio' }).waitFor()
    assert.equal(sent, 1)
    assert.equal(await countVideos(world(), last), 1)
    await page.unroute(/\/v1\/videos$/)
    await page.getByRole('article', { name: 'studio' }).getByRole('button', { name: 'Run again' }).click()
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.getByRole('button', { name: 'Show the video' }).waitFor()
    assert.equal(await countVideos(world(), last), 2)
    // The same values again, after a change.
    await page.getByLabel('Prompt', { exact: true }).fill('another')
    await page.getByLabel('Prompt', { exact: true }).fill(last)
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.getByRole('button', { name: 'Show the video' }).waitFor()
    assert.equal(await countVideos(world(), last), 3)
    // Another model is added: only its video is created.
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await page.getByLabel('Model 2').selectOption('sora-2')
    await page.getByText('Not created again: studio.').waitFor()
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.getByRole('button', { name: 'Show 2 videos' }).waitFor()
    assert.equal(await page.getByRole('article').count(), 2)
    assert.equal(await countVideos(world(), last), 4)
    assert.deepEqual(errors, [])
  })

  it('says that a video was deleted, after a return to it', async () => {
    const { page } = await world().openAsClient()
    await describeVideo(page, 'a short life', '2')
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.getByRole('article', { name: 'studio' }).getByText('Completed').waitFor()
    const playground = page.url()
    await page.getByRole('link', { name: 'Timeline and details' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Videos' }).waitFor()
    await page.goBack()
    await page.getByText('This video was deleted').waitFor()
    await page.goBack()
    assert.equal(page.url(), playground)
    await page.getByText('This video was deleted.').waitFor()
    assert.equal(await page.locator('.shot video').count(), 0)
  })

  it('creates one video although the response is lost', async () => {
    const { page } = await world().openAsClient()
    const keys: (string | undefined)[] = []
    await page.route('**/v1/videos', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      keys.push(
        await route
          .request()
          .headerValue('idempotency-key')
          .then((key) => key ?? undefined),
      )
      if (keys.length > 1) return route.continue()
      await route.fetch()
      return route.abort('connectionreset')
    })
    await describeVideo(page, 'a lost response', '2')
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.getByRole('article', { name: 'studio' }).getByText('Completed').waitFor()
    assert.equal(keys.length, 2)
    assert.equal(keys[0], keys[1])
    assert.equal(await countVideos(world(), 'a lost response'), 1)
  })

  it('compares two models, which play in step, with time and price under each', async () => {
    const { page, errors } = await world().openAsClient()
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await page.getByLabel('Model 2').selectOption('sora-2')
    await describeVideo(page, 'a kite', '2')
    await page.waitForFunction(() => document.querySelectorAll('.quotes li .number').length === 2)
    await page.getByRole('button', { name: 'Create 2 videos' }).click()
    for (const name of ['studio', 'sora-2']) {
      const shot = page.getByRole('article', { name, exact: true })
      await shot.getByText('Completed').waitFor()
      await shot.getByText(/^Took /).waitFor()
      await shot.getByText('US$0.10').waitFor()
      await shot.getByRole('link', { name: 'Download the video' }).waitFor()
    }
    await page.getByText(/^The videos are created\./).waitFor()
    await page.getByLabel('Request for').selectOption('sora-2')
    await page.locator('.code pre').getByText('"model":"sora-2"').waitFor()
    await page.getByRole('button', { name: 'Play all' }).click()
    await page.waitForFunction(() => {
      const times = [...document.querySelectorAll<HTMLVideoElement>('.shot video')].map((one) => one.currentTime)
      return times.length === 2 && times.every((at) => at > 0.3) && Math.max(...times) - Math.min(...times) < 0.3
    })
    await page.getByRole('button', { name: 'Pause all' }).click()
    await page.waitForFunction(() =>
      [...document.querySelectorAll<HTMLVideoElement>('.shot video')].every((one) => one.paused),
    )
    assert.deepEqual(errors, [])
  })

  it('runs a video again, and derives others from it', async () => {
    const id = await world().createVideo('a green door')
    const { page, errors } = await world().openAsClient(`/videos/${id}`)
    await page.getByRole('link', { name: 'Run again' }).click()
    const prompt = page.getByLabel('Prompt', { exact: true })
    await page.waitForFunction(() => document.querySelector('textarea')?.value === 'a green door')
    assert.equal(await page.getByLabel('Length').inputValue(), '2')
    await page.getByRole('button', { name: 'Create the video' }).click()
    const shot = page.getByRole('article', { name: 'studio' })
    await shot.getByText('Completed').waitFor()
    await shot.getByRole('button', { name: 'Vary' }).click()
    await page.getByText('Model parameters').click()
    assert.match(await page.getByLabel('seed').inputValue(), /^\d+$/)
    await shot.getByRole('button', { name: 'Remix' }).click()
    await page.getByText('Remix of').waitFor()
    assert.ok(await page.getByLabel('Size').isDisabled())
    await prompt.fill('the same door, at night')
    const before = page.url()
    await page.getByRole('button', { name: 'Create the video' }).click()
    await page.waitForFunction((url) => location.href !== url, before)
    await shot.getByText('Completed').waitFor()
    await shot.getByRole('link', { name: 'Timeline and details' }).click()
    await page.getByText('Derived from').waitFor()
    assert.deepEqual(errors, [])
    const operator = await world().openAsOperator(new URL(page.url()).pathname)
    await operator.page.getByText('Remix of').waitFor()
    await operator.page.locator('.code pre').getByText('/remix').waitFor()
    assert.deepEqual(operator.errors, [])
  })

  it('shows an image before it is sent, and refuses other files', async () => {
    const { page, errors } = await world().openAsClient()
    const field = page.getByLabel('Image', { exact: true })
    await field.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') })
    await page.getByText('This file is not a PNG, JPEG or WebP.').waitFor()
    await field.setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') })
    await page.getByRole('img', { name: 'dot.png' }).waitFor()
    await page.getByText('image=@"dot.png"').waitFor()
    await page.getByRole('button', { name: 'Remove the image' }).click()
    await page.getByRole('img', { name: 'dot.png' }).waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
  })
}

/** One pixel. */
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function countVideos({ service }: World, wanted: string): Promise<number> {
  const list = await service.fetch('/v1/videos?limit=100')
  const { data } = (await list.json()) as { data: { prompt: string }[] }
  return data.filter(({ prompt }) => prompt === wanted).length
}

/** Small, so that it is generated at once. */
async function describeVideo(page: Page, prompt: string, seconds: string): Promise<void> {
  await page.getByLabel('Prompt', { exact: true }).fill(prompt)
  await page.getByLabel('Length').selectOption(seconds)
  await page.getByLabel('Size').selectOption('640x360')
}
