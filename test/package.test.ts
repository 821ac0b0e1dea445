import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, it } from 'node:test'
import { assertPassesContract } from './acme.ts'
import { assertMakesVideo, packCheckout, plainEnv, root, run } from './packed.ts'
import { launcher, spawnServer } from './process.ts'

/* What is published, without the network: `npm run test:install` installs it as people do. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-package-'))
after(() => rmSync(folder, { recursive: true }))
const installed = join(folder, 'node_modules', 'filmgate')
let copy: string

before(() => {
  const packed = packCheckout(folder)
  copy = packed.copy
  mkdirSync(installed, { recursive: true })
  run('tar', ['-xzf', packed.tarball, '--strip-components=1', '-C', installed], { cwd: folder })
  for (const name of readdirSync(join(root, 'node_modules')))
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
})

it('npm pack leaves nothing in the checkout', () => {
  assert.equal(existsSync(join(copy, 'dist')), false)
})

it('the package has what runs and nothing else', () => {
  const read = ['CHANGELOG.md', 'LICENSE', 'README.md']
  assert.deepEqual(readdirSync(installed).sort(), [...read, 'bin', 'dist', 'docs', 'package.json'])
  const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
  const isExported = (file: string) => /^src\/providers\/contract\.(js|d\.ts)$/.test(file)
  assert.deepEqual(
    files.filter((file) => /(?<!\.d)\.ts$|\.(test|slow|services|fixture)\.|contract/.test(file) && !isExported(file)),
    [],
  )
  assert.ok(files.includes('console/dist/index.html') && files.includes('console/dist/index.html.br'))
  for (const file of files.filter((name) => name.endsWith('.js') && !name.startsWith('console/'))) {
    const path = join(installed, 'dist', file)
    for (const [, imported = ''] of readFileSync(path, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'/g))
      assert.ok(existsSync(join(dirname(path), imported)), `${file} imports ${imported}`)
  }
})

it('an adapter that is written against filmgate/provider passes the contract there, and its types are checked', async () => {
  const own = join(folder, 'acme')
  const kit = ['src/providers/kit/index.ts', 'src/providers/provider.ts']
  await assertPassesContract(own, (path) => (kit.includes(path) ? 'filmgate/provider' : 'filmgate/provider/contract'))
  writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module' }))
  const project = { extends: join(root, 'tsconfig.json'), compilerOptions: { skipLibCheck: false }, include: ['.'] }
  writeFileSync(join(own, 'tsconfig.json'), JSON.stringify(project))
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', own], { cwd: own })
})

it('the package rehearses as well', () => {
  const args = [join(installed, 'bin', 'filmgate.js'), 'simulate', '--help']
  assert.match(run(process.execPath, args, { cwd: folder }), /filmgate simulate kling/)
})

it('what people install has exact versions: neither our lock nor our overrides reach them', () => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies }))
    assert.match(String(version), /^\d+\.\d+\.\d+$/, name)
  // Its own version range would allow a newer FFmpeg with older JavaScript.
  assert.equal(optionalDependencies['@seydx/node-av-linux-x64'], optionalDependencies['node-av'])
})

it('below node_modules, where Node strips no types, it serves and makes a video', async () => {
  const program = [process.execPath, join(installed, 'bin', 'filmgate.js')]
  await using server = spawnServer({ program, args: ['--data', join(folder, 'data')] })
  await assertMakesVideo(server)
  server.child.kill('SIGTERM')
  assert.deepEqual(await server.exit, { code: 0, signal: null })
})

const olderNode =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})'

it('an older Node hands over to the Node 24 that npm installed, and a signal to stop as well', async () => {
  const program = [process.execPath, '--import', olderNode, launcher]
  await using server = spawnServer({ program, args: ['--data', join(folder, 'older')] })
  await server.url
  const children = readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'utf8').trim()
  assert.match(children, /^\d+$/)
  server.child.kill('SIGTERM')
  assert.deepEqual(await server.exit, { code: 0, signal: null })
  assert.match(server.output.stdout, /Stopping/)
})

it('an older Node says what to do where npm installed no Node 24', () => {
  // No parent folder has packages.
  const apart = mkdtempSync(join(tmpdir(), 'filmgate-apart-'))
  after(() => rmSync(apart, { recursive: true }))
  const alone = join(apart, 'bin', 'filmgate.mjs')
  mkdirSync(join(apart, 'bin'))
  copyFileSync(launcher, alone)
  const args = ['--import', olderNode, alone]
  const { status, stderr } = spawnSync(process.execPath, args, { env: plainEnv, encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, /^filmgate: Node 24 or newer is needed.+https:\/\/nodejs\.org/)
})
