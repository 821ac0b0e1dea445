import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { plainEnv, root } from './packed.ts'

/*
 * Writes the files of docs/adding-a-provider.md into a folder and runs their contract. `pointTo` gives the import path of a
 * file that is not on the page.
 */
export async function assertPassesContract(folder: string, pointTo: (path: string) => string): Promise<void> {
  const page = readFileSync(join(root, 'docs/adding-a-provider.md'), 'utf8')
  const files = [...page.matchAll(/```ts (\S+)\n(.*?)```/gs)].map(([, name = '', text = '']) => ({
    place: name.startsWith('simulators/') ? name : `src/providers/${name}`,
    text,
  }))
  assert.equal(files.length, 3)
  for (const { place, text } of files) {
    const path = join(folder, place)
    mkdirSync(dirname(path), { recursive: true })
    const pointed = text.replaceAll(/from '(\.[^']+)'/g, (whole, target: string) => {
      const imported = join(dirname(place), target)
      return files.some((own) => own.place === imported) ? whole : `from '${pointTo(imported)}'`
    })
    writeFileSync(path, pointed)
  }
  const test = join(folder, 'src/providers/acme.test.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', test], { env: plainEnv })
  assert.match(stdout, /^. pass 1\d$/m)
}
