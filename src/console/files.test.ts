import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import fastify from 'fastify'
import { findConsoleFiles } from './files.ts'

it('all responses with a file share its bytes: a client may request it very often, and read nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-files-'))
  mkdirSync(join(folder, 'assets'))
  for (const name of ['index.html', 'docs.html', 'assets/index.js']) writeFileSync(join(folder, name), name)
  writeFileSync(join(folder, 'paths.json'), '[]')
  const files = findConsoleFiles({ folder })
  assert.ok(files)
  await using app = fastify()
  const payloads = new Map<string, Set<unknown>>()
  app.addHook('onSend', async ({ url }, _, payload) => {
    payloads.set(url, (payloads.get(url) ?? new Set()).add(payload))
  })
  files.addTo(app)
  app.setNotFoundHandler(files.sendNotFound)
  const origin = await app.listen({ port: 0 })
  const headers = { accept: 'text/html' }
  for (const url of ['/', '/assets/index.js', '/nothing'])
    await Promise.all(Array.from({ length: 20 }, () => fetch(origin + url, { headers })))
  assert.deepEqual(
    [...payloads].map(([url, all]) => [url, all.size]),
    [
      ['/', 1],
      ['/assets/index.js', 1],
      ['/nothing', 1],
    ],
  )
  // No file is opened any more.
  rmSync(folder, { recursive: true })
  assert.equal(await (await fetch(`${origin}/assets/index.js`)).text(), 'assets/index.js')
})
