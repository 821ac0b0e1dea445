import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

/*
 * `npm pack` runs this: it writes what the published package runs to dist/, laid out as the checkout is. Node strips no
 * types below node_modules. Types become spaces, so a stack trace names the lines of the sources.
 */
const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const onlyForTests = ['**/*.{test,services,fixture}.ts', '**/fixtures.ts', '**/contract.ts', '**/contract/**']

rmSync(dist, { recursive: true, force: true })
for (const file of globSync('{src,simulators}/**/*.ts', { cwd: root, exclude: onlyForTests })) {
  const text = stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'))
  const target = join(dist, file.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  // Imports, and the URLs of threads and child processes.
  writeFileSync(target, text.replaceAll(/(?<=')(\.\.?\/[^'\n]+)\.ts(?=')/g, '$1.js'))
}
for (const file of ['package.json', 'assets', 'src/stores/migrations'])
  cpSync(join(root, file), join(dist, file), { recursive: true })
