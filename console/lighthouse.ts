import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { freePort } from '../test/free-port.ts'
import { findChromium, openWorld, settings } from './test/world.ts'

/*
 * `npm run lighthouse`: the overview and the playground of a signed-in operator, three times each. Accessibility and best practices
 * must reach 95; performance depends on the machine, so its median is only reported. Lighthouse is large, and no package for development:
 * npx downloads it.
 */

const paths = ['/overview', '/']
const rounds = 3
const least = 95
const categories = ['performance', 'accessibility', 'best-practices'] as const
const lighthouse = ['--yes', '--ignore-scripts', 'lighthouse@13.5.0']

await using stack = new AsyncDisposableStack()
const world = stack.use(await openWorld({ yaml: JSON.stringify(settings) }))
for (const prompt of ['a red fox in snow at dusk', 'a lighthouse in a storm']) await world.createVideo(prompt)
const port = await freePort()
const profile = mkdtempSync(join(tmpdir(), 'filmgate-lighthouse-'))
stack.defer(() => rmSync(profile, { recursive: true, force: true }))
// Lighthouse opens tabs of its own in this browser, so they are signed in as well.
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: findChromium(),
  args: ['--no-sandbox', `--remote-debugging-port=${port}`],
})
stack.defer(() => browser.close())
const [first] = browser.pages()
await world.signInByLink(first ?? (await browser.newPage()))

const failed: string[] = []
for (const path of paths) {
  const scores = new Map<string, number[]>(categories.map((name) => [name, []]))
  for (let round = 0; round < rounds; round += 1)
    for (const [name, score] of await measure(path)) scores.get(name)?.push(score)
  const medians = [...scores].map(([name, values]) => [name, median(values)] as const)
  process.stdout.write(`${path.padEnd(10)} ${medians.map(([name, value]) => `${name} ${value}`).join(', ')}\n`)
  for (const [name, value] of medians)
    if (name !== 'performance' && value < least) failed.push(`${path}: ${name} is ${value}, and must be ${least}`)
}
assert.deepEqual(failed, [])

/** What is read of its result. */
interface Report {
  runtimeError?: object
  finalDisplayedUrl: string
  audits: Record<string, { id: string; title: string; score: number | null; details?: object }>
  categories: Record<string, { score: number | null; auditRefs: { id: string; weight: number }[] }>
}

async function measure(path: string): Promise<[name: string, score: number][]> {
  const url = world.service.url + path
  const flags = [`--port=${port}`, '--preset=desktop', '--disable-storage-reset', '--output=json', '--quiet']
  const asked = [...lighthouse, url, `--only-categories=${categories}`, ...flags]
  const { stdout } = await promisify(execFile)('npx', asked, { maxBuffer: 64 * 2 ** 20 })
  const lhr = JSON.parse(stdout) as Report
  assert.equal(lhr.runtimeError, undefined)
  // The page itself, and not the form for those who are not signed in.
  assert.equal(new URL(lhr.finalDisplayedUrl).pathname, path)
  for (const { id, title, score, details } of Object.values(lhr.audits)) {
    const isRefused = categories
      .slice(1)
      .some((name) => lhr.categories[name]?.auditRefs.some((one) => one.id === id && one.weight > 0))
    if (isRefused && score !== null && score < 1)
      process.stdout.write(`  ${path} ${title}: ${JSON.stringify(details).slice(0, 500)}\n`)
  }
  return categories.map((name) => [name, Math.round((lhr.categories[name]?.score ?? 0) * 100)])
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
