import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'

/* What `npm start` does about the console, and what its sources may use. */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'filmgate-build-'))
after(() => rmSync(folder, { recursive: true }))

function newCheckout(name: string): string {
  const checkout = join(folder, name)
  mkdirSync(checkout)
  cpSync(join(root, 'tsconfig.json'), join(checkout, 'tsconfig.json'))
  const left = ['dist', 'screenshots', 'test', 'node_modules'].map((one) => join(root, 'console', one))
  cpSync(join(root, 'console'), join(checkout, 'console'), { recursive: true, filter: (path) => !left.includes(path) })
  return checkout
}

function prestart(checkout: string, env: Record<string, string> = {}) {
  const program = [join(checkout, 'console', 'build.js')]
  const { status, stderr } = spawnSync(process.execPath, program, { env: { ...process.env, ...env }, encoding: 'utf8' })
  return { status, stderr }
}

it('a start builds the console once, and says so', () => {
  const checkout = newCheckout('usual')
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  assert.deepEqual(prestart(checkout, { FILMGATE_CONSOLE: 'off' }), { status: 0, stderr: '' })
  const line = 'filmgate: the console is being built; that takes a few seconds, once\n'
  assert.deepEqual(prestart(checkout), { status: 0, stderr: line })
  for (const name of ['index.html', 'index.html.br', 'index.html.gz', 'docs.html', 'paths.json'])
    assert.ok(existsSync(join(checkout, 'console', 'dist', name)), name)
  assert.deepEqual(prestart(checkout), { status: 0, stderr: '' })
})

it('without the packages for development a start goes on, and says why there is no console', () => {
  const { status, stderr } = prestart(newCheckout('bare'))
  assert.equal(status, 0)
  const why = 'the packages for development, which build it, are not installed (npm ci)'
  assert.equal(stderr, `filmgate: the service starts without its console: ${why}\n`)
})

it('in a folder that can not be written it goes on as well', () => {
  const checkout = newCheckout('read-only')
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  // The tests may run as root, whom no mode of a folder keeps out: a link to a place where nothing can be made does.
  symlinkSync('/proc/1/nothing', join(checkout, 'console', 'dist'))
  const { status, stderr } = prestart(checkout)
  assert.equal(status, 0)
  assert.match(stderr, /^filmgate: the service starts without its console: \S+dist can't be written \(E[A-Z]+\)\n$/)
})

const sources = globSync('console/src/**/*.{ts,tsx}', { cwd: root })
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

it('the console takes only types from the service, and only those of its APIs', () => {
  // Tests compare texts with those of the service.
  const built = sources.filter((file) => !file.endsWith('.test.ts'))
  const wrong = built.flatMap((file) =>
    [...textOf(file).matchAll(/import (type )?[^'"]*?from '((?:\.\.\/)+src\/[^']+)'/g)]
      .filter(([, type, path = '']) => type === undefined || !/^(\.\.\/)+src\/wire\//.test(path))
      .map(([found]) => `${file}: ${found}`),
  )
  assert.deepEqual(wrong, [])
})

it('one file of the console sends requests, one remembers, and none writes markup or is long', () => {
  const owners: [what: RegExp, owner: string][] = [
    // The reference of the API is a page of its own, in which requests are tried.
    [/\bfetch\(/, 'console/src/api.ts console/src/docs/reference.ts'],
    [/\bnew EventSource\(/, 'console/src/live.ts'],
    [/\blocalStorage\b/, 'console/src/preferences.ts'],
    [/dangerouslySetInnerHTML|innerHTML|\beval\(|sessionStorage|document\.cookie/, ''],
  ]
  for (const [what, owner] of owners) {
    const users = sources.filter((file) => !owner.split(' ').includes(file) && what.test(textOf(file)))
    assert.deepEqual(users, [], String(what))
  }
  assert.deepEqual(
    sources.filter((file) => textOf(file).split('\n').length > 500),
    [],
  )
})

it('every page of the router is at a path that the service knows', async () => {
  const { paths } = (await import('../console/src/paths.ts')) as { paths: readonly string[] }
  const routes = [...textOf('console/src/router.tsx').matchAll(/getParentRoute: \(\) => root,\s*path: '\/([\w-]*)/g)]
  const parts = new Set(routes.map(([, part = '']) => part).filter((part) => part !== ''))
  assert.ok(parts.size >= 2)
  assert.deepEqual([...parts].toSorted(), [...paths].toSorted())
})
