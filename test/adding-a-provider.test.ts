import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..')

it('the provider of docs/adding-a-provider.md passes the contract as it stands there', async () => {
  const page = readFileSync(join(root, 'docs/adding-a-provider.md'), 'utf8')
  const files = [...page.matchAll(/```ts (\S+)\n(.*?)```/gs)]
  assert.equal(files.length, 4)
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-acme-'))
  try {
    for (const [, name = '', text = ''] of files) {
      const place = name.startsWith('simulators/') ? name : `src/providers/${name}`
      const path = join(folder, place)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(
        path,
        pointed(
          text,
          place,
          files.map(([, other = '']) => other),
        ),
      )
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const test = join(folder, 'src/providers/acme.test.ts')
    const { stdout } = await promisify(execFile)(process.execPath, ['--test', test], { env })
    assert.match(stdout, /^. pass 1\d$/m)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** What is not on the page is taken from here. */
function pointed(text: string, place: string, own: readonly string[]): string {
  return text.replaceAll(/from '(\.[^']+)'/g, (whole, target: string) => {
    const path = join(dirname(place), target)
    const isOwn = own.some((name) => path === name || path === `src/providers/${name}`)
    return isOwn ? whole : `from '${join(root, path)}'`
  })
}
