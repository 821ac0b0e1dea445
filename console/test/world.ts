import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { operatorToken, startService, type TestOptions, type TestService, token } from '../../test/service.ts'

/* A real service with the built console, and a real browser. */

const root = join(import.meta.dirname, '..', '..')
export const dist = join(root, 'console', 'dist')

/** A model that costs something, and an alias. */
export const settings = {
  aliases: { 'sora-2': 'studio' },
  prices: { currency: 'USD', models: { studio: { price: [{ unit: 'second', price: '0.05' }] } } },
}

export interface World extends AsyncDisposable {
  service: TestService
  browser: Browser
  /** A page of a new visitor. `errors` collects what the browser complains about. */
  open(options?: BrowserContextOptions): Promise<{ page: Page; errors: string[] }>
  /** The same, signed in by a link. */
  openAsOperator(path?: string, options?: BrowserContextOptions): Promise<{ page: Page; errors: string[] }>
  openAsClient(path?: string, options?: BrowserContextOptions): Promise<{ page: Page; errors: string[] }>
  /** Signed in with the secret of a token. */
  openWith(secret: string, path: string, options?: BrowserContextOptions): Promise<{ page: Page; errors: string[] }>
  /** POSTs JSON to the operator API, which has to accept it. */
  operate<Answer>(path: string, body: object): Promise<Answer>
  /** The address that `filmgate console` prints. */
  link(): Promise<string>
  signInByLink(page: Page): Promise<void>
  /** Creates a short video and waits for its end. */
  createVideo(prompt: string, model?: string): Promise<string>
}

export async function openWorld(options: TestOptions = {}): Promise<World> {
  await using stack = new AsyncDisposableStack()
  buildConsole()
  const env = { FILMGATE_OPERATOR_TOKEN: operatorToken, ...options.env }
  const service = stack.use(await startService({ ...options, env, world: { ...options.world, consoleFolder: dist } }))
  const browser = await openBrowser()
  stack.defer(() => browser.close())
  const open = (given: BrowserContextOptions = {}) => openPage(browser, given)
  async function link(): Promise<string> {
    const headers = { authorization: `Bearer ${operatorToken}` }
    const response = await service.fetch('/operator/v1/console_codes', { method: 'POST', headers })
    return `${service.url}/#code=${((await response.json()) as { code: string }).code}`
  }
  async function signInByLink(page: Page): Promise<void> {
    await page.goto(await link())
    await page.getByRole('button', { name: 'Your account' }).waitFor()
  }
  async function openWith(secret: string, path: string, given: BrowserContextOptions = {}) {
    const opened = await open(given)
    await opened.page.goto(service.url + path)
    await opened.page.getByLabel('Token').fill(secret)
    await opened.page.getByRole('button', { name: 'Sign in' }).click()
    await opened.page.getByRole('button', { name: 'Your account' }).waitFor()
    return opened
  }
  const resources = stack.move()
  return {
    service,
    browser,
    open,
    link,
    signInByLink,
    async openAsOperator(path = '/', given = {}) {
      const opened = await open(given)
      await signInByLink(opened.page)
      if (path !== '/') await opened.page.goto(service.url + path)
      return opened
    },
    openAsClient: (path = '/', given = {}) => openWith(token, path, given),
    openWith,
    async operate<Answer>(path: string, body: object) {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
      const sent = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await service.fetch(`/operator/v1${path}`, sent)
      if (response.status !== 200) throw new Error(`${path} returned ${response.status}: ${await response.text()}`)
      return (await response.json()) as Answer
    },
    async createVideo(prompt, model = 'studio') {
      const made = await service.submit({ model, prompt, seconds: '2', size: '640x360' })
      const { id } = (await made.json()) as { id: string }
      await service.finish(id)
      return id
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** If it is not built yet. */
export function buildConsole(): void {
  execFileSync(process.execPath, [join(root, 'console', 'build.js')], { stdio: 'inherit' })
}

export function openBrowser(): Promise<Browser> {
  // Another name of this machine, which the browser does not trust as it trusts the loopback address.
  const names = '--host-resolver-rules=MAP films.example 127.0.0.1'
  return chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox', names] })
}

/** A page of a new visitor. Violations of the policy of a page are errors as well. */
export async function openPage(browser: Browser, given: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB', ...given })
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => errors.push(String(error)))
  return { page, errors }
}

/** Whether a complaint is about more than a request that failed. */
export const isUnexpected = (text: string) => !/ERR_|Failed to load resource/.test(text)

/** The player of the page moves on. */
export async function assertPlays(page: Page): Promise<void> {
  await page.locator('.player video').evaluate(async (element: HTMLVideoElement) => {
    element.muted = true
    const moved = new Promise<void>((resolve) => {
      element.addEventListener('timeupdate', () => element.currentTime > 0.2 && resolve())
    })
    await element.play()
    await moved
  })
}

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export function findChromium(): string {
  const found = places.find(existsSync)
  if (found) return found
  throw new Error(`there is no browser at ${places.join(' or ')}; install it: apt-get install -y chromium`)
}
