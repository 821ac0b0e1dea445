import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { assertMakesVideo, packCheckout, plainEnv, run } from './packed.ts'
import { spawnServer } from './process.ts'

/*
 * `npm run test:install`: installs the package as people do, from the registry, with the Node and npm of the system
 * (Node 20 or newer), and creates a video. Not part of `npm test`, because an install takes up to a minute.
 */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-install-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let tarball: string
before(() => {
  tarball = packCheckout(folder).tarball
})

function emptyFolder(name: string): { cwd: string; env: Record<string, string> } {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  // A cache of its own, as a newcomer has it: npx keeps what it installed there.
  return { cwd, env: { ...plainEnv, npm_config_cache: join(folder, 'cache') } }
}

/** Starts it as a terminal does, and ends it by Ctrl-C: a signal to `npx` alone reaches its shell, and not the server. */
async function makeVideo(program: string[], { cwd, env }: { cwd: string; env: Record<string, string> }): Promise<void> {
  const server = spawnServer({ under: ['setsid'], program, cwd, env: { ...env, FILMGATE_PORT: '0' } })
  try {
    await assertMakesVideo(server)
  } finally {
    if (server.child.exitCode === null) process.kill(-(server.child.pid ?? 0), 'SIGINT')
    await server.exit
  }
}

it('npx, in an empty folder, with the install scripts of dependencies on', async () => {
  const { cwd, env } = emptyFolder('npx')
  const program = ['npx', '--yes', '--package', tarball, 'filmgate']
  await makeVideo(program, { cwd, env: { ...env, npm_config_ignore_scripts: 'false' } })
  assert.ok(existsSync(join(cwd, 'filmgate-data')))
})

it('npm install --ignore-scripts, and its command without the PATH that npx sets', async () => {
  const { cwd, env } = emptyFolder('no-scripts')
  run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--prefix', cwd, tarball], { cwd, env })
  await makeVideo(['node_modules/.bin/filmgate'], { cwd, env })
})
