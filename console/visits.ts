import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { OperatorTaskList } from '../src/wire/operator.ts'
import { openBrowser, openPage } from './test/world.ts'

/*
 * A part of `npm run bench -- --only consoles`, in a process of its own: a real browser on a running service. It records which requests
 * the pages make and when, and measures how soon the table of videos can be used.
 */

interface VisitOrder {
  url: string
  operatorToken: string
  /** How long each page is watched. */
  seconds: number
  rounds: number
  /** How many rows are scrolled. */
  rows: number
}

/** The requests of one page, by the time after it was opened. */
interface Recording {
  page: string
  requests: { path: string; atMs: number }[]
}

interface VisitResult {
  cookie: string
  recordings: Recording[]
  /** From the start of the navigation, in milliseconds. */
  firstPaintMs: number[]
  usableMs: number[]
  /** The times between two frames while the rows are scrolled. */
  frameMs: number[]
}

/** In pixels: as fast as someone who flicks through the list, at 60 frames a second. */
const frameStep = 120

const watched = ['/', '/videos', '/overview', '/models']

async function visit(order: VisitOrder): Promise<VisitResult> {
  await using stack = new AsyncDisposableStack()
  const browser = await openBrowser()
  stack.defer(() => browser.close())
  const { page } = await openPage(browser)
  await signIn(page, order)
  const [cookie] = await page.context().cookies()
  const recordings: Recording[] = []
  for (const path of watched) recordings.push(await record(page, path, order))
  const [firstPaintMs, usableMs]: number[][] = [[], []]
  for (let round = 0; round < order.rounds; round += 1) {
    const { paint, usable } = await timeTable(page, order)
    firstPaintMs?.push(paint)
    usableMs?.push(usable)
  }
  const frameMs = await scroll(page, order)
  return {
    cookie: `${cookie?.name}=${cookie?.value}`,
    recordings,
    firstPaintMs: firstPaintMs ?? [],
    usableMs: usableMs ?? [],
    frameMs,
  }
}

async function signIn(page: Page, { url, operatorToken }: VisitOrder): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Token').fill(operatorToken)
  await page.getByLabel('Token').press('Enter')
  await page.getByRole('button', { name: 'Your account' }).waitFor()
}

async function record(page: Page, path: string, { url, seconds }: VisitOrder): Promise<Recording> {
  const requests: Recording['requests'] = []
  const from = Date.now()
  const add = (request: { url(): string }) => {
    const { pathname, search } = new URL(request.url())
    if (/^\/(v1|operator|console)\//.test(pathname)) requests.push({ path: pathname + search, atMs: Date.now() - from })
  }
  page.on('request', add)
  await page.goto(url + path)
  await setTimeout(seconds * 1_000)
  page.off('request', add)
  return { page: path, requests }
}

async function timeTable(page: Page, { url }: VisitOrder): Promise<{ paint: number; usable: number }> {
  await page.goto('about:blank')
  await page.goto(`${url}/videos`)
  await page.locator('tbody tr').first().waitFor()
  return page.evaluate(() => ({
    usable: performance.now(),
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  }))
}

/** The list has many rows at once, more than the service ever sends. They have no pictures, which would be requested. */
async function scroll(page: Page, { url, rows }: VisitOrder): Promise<number[]> {
  await page.route(/\/operator\/v1\/tasks\?/, async (route) => {
    const response = await route.fetch()
    const list = (await response.json()) as OperatorTaskList
    const [one] = list.data
    if (!one) throw new Error('there is no task')
    const data = Array.from({ length: rows }, (_, at) => ({ ...one, id: `${one.id}${at}`, status: 'queued' }))
    await route.fulfill({ response, json: { ...list, data } })
  })
  await page.goto(`${url}/videos`)
  await page.waitForFunction((count) => document.querySelectorAll('tbody tr').length === count, rows)
  // No more changes of the rows: only scrolling is measured.
  await page.route(/\/operator\/v1\/tasks\?/, () => {})
  return page.evaluate(async (step) => {
    const next = () => new Promise<number>((resolve) => requestAnimationFrame(resolve))
    const frames: number[] = []
    window.scrollTo(0, document.documentElement.scrollHeight / 2)
    let before = await next()
    for (let at = 0; at < 300; at += 1) {
      window.scrollBy(0, step)
      const now = await next()
      frames.push(now - before)
      before = now
    }
    return frames
  }, frameStep)
}

if (process.send) {
  process.once('message', async (order: VisitOrder) => process.send?.(await visit(order)))
  process.once('disconnect', () => process.exit())
}
