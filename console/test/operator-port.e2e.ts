import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { start } from '../../src/main.ts'
import { operatorToken, token } from '../../test/service.ts'
import { buildConsole, dist, openBrowser, openPage } from './world.ts'

it('at a port of their own, operators see where the Videos API is', async () => {
  buildConsole()
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-operator-port-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const env = {
    ...{ FILMGATE_PORT: '0', FILMGATE_OPERATOR_PORT: '0', FILMGATE_DATA: join(folder, 'data') },
    ...{ FILMGATE_CONFIG: '/dev/null', FILMGATE_TOKEN: token, FILMGATE_OPERATOR_TOKEN: operatorToken },
  }
  const service = stack.use(await start(loadConfig({ flags: {}, env }), { writeLog: () => {}, consoleFolder: dist }))
  const { url, operatorUrl } = service
  const browser = await openBrowser()
  stack.defer(() => browser.close())
  const { page, errors } = await openPage(browser)
  const signIn = async (secret: string) => {
    await page.getByLabel('Token').fill(secret)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Your account' }).waitFor()
  }
  await page.goto(`${operatorUrl}/`)
  await signIn(operatorToken)
  await page.getByRole('link', { name: url }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'API reference' }).count(), 0)
  await page.goto(`${operatorUrl}/tokens/new`)
  await page.getByLabel('Name', { exact: true }).fill('anna')
  await page.getByRole('button', { name: 'Create a token' }).click()
  assert.match((await page.locator('.secret pre').first().textContent()) ?? '', new RegExp(`^curl ${url}/v1/videos `))
  await page.goto(`${operatorUrl}/models/studio`)
  await page.getByText(`curl ${url}/v1/videos`).first().waitFor()
  // The same browser sends its cookie there as well, and is not signed in.
  await page.goto(url)
  await signIn(token)
  await page.getByRole('link', { name: 'API reference' }).waitFor()
  await page.goto(`${operatorUrl}/overview`)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  assert.deepEqual(errors, [])
})
