import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'

/* Installing Filmgate runs no program of a dependency; packing it runs our own. */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'filmgate-packaging-'))
after(() => rmSync(folder, { recursive: true }))

const project = join(folder, 'project')
const mark = join(folder, 'install-script-ran')
const leaveMark = 'node -e "require(\'node:fs\').writeFileSync(process.env.MARK, String())"'
const marked = `file:${join(project, 'marked-1.0.0.tgz')}`

/** The environment of a plain shell: `npm test` passes its settings on to its children. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
const own = { MARK: mark, npm_config_userconfig: join(folder, 'no-npmrc'), npm_config_cache: join(folder, 'cache') }

function npm(cwd: string, ...args: string[]): { status: number | null; output: string } {
  const ran = spawnSync('npm', [...args, '--offline'], { cwd, env: { ...env, ...own }, encoding: 'utf8' })
  return { status: ran.status, output: ran.stdout + ran.stderr }
}

function writePackage(path: string, fields: object): void {
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name: 'project', version: '1.0.0', ...fields }))
}

/** A project with our own settings of npm and one dependency, which has a script for each step of its installation. */
function writeProject(allowScripts?: object): void {
  const scripts = { preinstall: leaveMark, install: leaveMark, postinstall: leaveMark }
  const dependency = join(folder, 'marked')
  writePackage(dependency, { name: 'marked', scripts })
  writePackage(project, {
    dependencies: { marked },
    scripts: { prepack: "node -e \"require('node:fs').writeFileSync('built.js', String())\"" },
    ...(allowScripts && { allowScripts }),
  })
  copyFileSync(join(root, '.npmrc'), join(project, '.npmrc'))
  const made = [
    npm(dependency, 'pack', '--pack-destination', project),
    npm(project, 'install', '--package-lock-only', '--ignore-scripts'),
  ]
  for (const { status, output } of made) assert.equal(status, 0, output)
}

it('npm ci runs the install script of no dependency: it stops at one that package.json does not decide on', () => {
  writeProject()
  const { status, output } = npm(project, 'ci')
  assert.notEqual(status, 0)
  assert.match(output, /ESTRICTALLOWSCRIPTS[\s\S]*marked@1\.0\.0/)
  assert.ok(!existsSync(mark))
})

it('npm ci installs a dependency whose script package.json denies, without it', () => {
  writeProject({ [marked]: false })
  const { status, output } = npm(project, 'ci')
  assert.equal(status, 0, output)
  assert.ok(existsSync(join(project, 'node_modules/marked/package.json')))
  assert.ok(!existsSync(mark))
  // Without this, a missing mark would prove nothing.
  writeProject({ [marked]: true })
  assert.equal(npm(project, 'ci').status, 0)
  assert.ok(existsSync(mark))
})

it('npm pack runs our own prepack', () => {
  writeProject({ [marked]: false })
  const { status, output } = npm(project, 'pack')
  assert.equal(status, 0, output)
  const packed = spawnSync('tar', ['-tzf', join(project, 'project-1.0.0.tgz')], { encoding: 'utf8' }).stdout
  assert.ok(packed.split('\n').includes('package/built.js'), packed)
})

it('every dependency with an install script is denied, and no other is named', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
  const packages: Record<string, { hasInstallScript?: boolean }> = read('package-lock.json').packages
  const withScripts = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript)
  const names = withScripts.map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
  assert.deepEqual(read('package.json').allowScripts, Object.fromEntries(names.toSorted().map((name) => [name, false])))
})
