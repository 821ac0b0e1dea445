import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { operatorToken, startService, type TestService, token } from './service.ts'

/* Runs the commands of the README as they are, except for the address; and those of one more page. */
const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const cli = join(root, 'bin', 'filmgate.js')
const folder = mkdtempSync(join(tmpdir(), 'filmgate-readme-'))
let service: TestService

before(async () => {
  service = await startService({ env: { FILMGATE_OPERATOR_TOKEN: operatorToken } })
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** The first example in that language that contains the text. */
function example(language: string, text: string, page = readme): string {
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  const found = blocks.find(([, name, code]) => name === language && code?.includes(text))?.[2]
  assert.ok(found, `the README has no ${language} example with ${text}`)
  return found.replaceAll('http://127.0.0.1:8484', service.url)
}

async function run(command: string, args: string[]): Promise<void> {
  const env = { ...process.env, FILMGATE_TOKEN: token, FILMGATE_BASE_URL: `${service.url}/v1` }
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  assert.equal(code, 0, output)
}

function assertFilm(): void {
  const path = join(folder, 'fox.mp4')
  assert.ok(existsSync(path), 'fox.mp4 was not made')
  assert.equal(readFileSync(path).toString('latin1', 4, 8), 'ftyp')
  rmSync(path)
}

it('the Node example makes a film', async () => {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(root, 'node_modules', 'openai-7.53'), join(folder, 'node_modules', 'openai'))
  writeFileSync(join(folder, 'fox.mjs'), example('js', 'videos.create'))
  await run(process.execPath, ['fox.mjs'])
  assertFilm()
})

it('the Python example makes a film', async (test) => {
  const python = [join(root, '.venv', 'bin', 'python'), 'python3'].find(
    (name) => spawnSync(name, ['-c', 'import openai']).status === 0,
  )
  if (!python)
    return test.skip('no Python with the openai package: python3 -m venv .venv && .venv/bin/pip install openai')
  writeFileSync(join(folder, 'fox.py'), example('python', 'create_and_poll'))
  await run(python, ['fox.py'])
  assertFilm()
})

it('the command line makes a film', async () => {
  const line = example('sh', 'generate').match(/^npx filmgate (.+)$/m)?.[1] ?? ''
  await run('bash', ['-c', `"${process.execPath}" "${cli}" ${line}`])
  assertFilm()
})

it('three commands give a colleague a token with a budget, and make a video with it', async () => {
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
  const commands = example('sh', '--budget 5', page)
  assert.equal(commands.trim().split('\n').length, 3)
  const script = commands
    .replaceAll('fg_…', `'${operatorToken}'`)
    .replaceAll('npx filmgate', `"${process.execPath}" "${cli}"`)
  await run('bash', ['-ec', script])
  assertFilm()
  const { data } = await service.operator<{ data: { name: string; spend: unknown }[] }>('/tokens')
  const colleague = data.find(({ name }) => name === 'colleague')
  assert.deepEqual(colleague?.spend, { total: { limit: '5', time_zone: 'UTC' } })
})

it('the curls make a film', async () => {
  const [submit = '', , poll = '', fetch = ''] = example('sh', '-F model')
    .split(/\n(?! )/)
    .map((line) => line.replace(/ +#.*$/, ''))
  const script = `
    set -e
    export ID=$(${submit} -s | sed -E 's/.*"id":"([^"]+)".*/\\1/')
    until ${poll} -s | grep -q completed; do sleep 0.2; done
    ${fetch} -s`
  await run('bash', ['-c', script])
  assertFilm()
})
