import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

/*
 * `npm pack` runs this: it writes the published package's code to dist/, in the layout of the checkout, because Node strips no
 * types below node_modules. Types become spaces, so a stack trace names the lines of the sources. The package's exports, the
 * kit for adapters and their contract, have their types beside them. The console is built.
 */
const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const exported = ['src/providers/kit/index.ts', 'src/providers/contract.ts']
const onlyForTests = ['**/*.{test,slow,services,fixture}.ts', '**/fixtures.ts', '**/contract.ts', '**/contract/**']

rmSync(dist, { recursive: true, force: true })
const files = globSync('{src,simulators}/**/*.ts', { cwd: root, exclude: onlyForTests })
for (const file of new Set([...files, ...exported])) {
  const text = stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'))
  const target = join(dist, file.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, pointedToScripts(text))
}

const project = join(dist, 'tsconfig.json')
const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: root, outDir: dist }
const roots = exported.map((file) => join(root, file))
writeFileSync(
  project,
  JSON.stringify({ extends: '../tsconfig.json', compilerOptions: options, files: roots, include: [] }),
)
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', project], {
  stdio: 'inherit',
})
rmSync(project)
for (const file of globSync('**/*.d.ts', { cwd: dist })) {
  const path = join(dist, file)
  writeFileSync(path, pointedToScripts(readFileSync(path, 'utf8')))
}

execFileSync(process.execPath, [join(root, 'console/build.js'), '--again'], { stdio: ['ignore', 2, 'inherit'] })

for (const file of ['package.json', 'assets', 'console/dist', 'src/stores/migrations'])
  cpSync(join(root, file), join(dist, file), { recursive: true })

/** Imports, and the URLs of threads and child processes. */
function pointedToScripts(text: string): string {
  return text.replaceAll(/(?<=['"])(\.\.?\/[^'"\n]+)\.ts(?=['"])/g, '$1.js')
}
