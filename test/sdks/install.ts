import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** A program that is ready to run, and the SDK in it. */
export interface Program {
  sdk: string
  command: string
  args: string[]
}

/** The language is not installed on this machine: not a failure of the SDK or the service. */
export class Missing extends Error {}

const here = import.meta.dirname
const cache = join(here, '../../node_modules/.cache/filmgate-sdks')

export async function installNode(): Promise<Program> {
  const { version } = JSON.parse(readFileSync(join(here, '../../node_modules/openai-7.53/package.json'), 'utf8'))
  return { sdk: `openai ${version}`, command: process.execPath, args: [join(here, 'node/main.ts')] }
}

export async function installPython(): Promise<Program> {
  await need('Python 3.11 or newer, with venv,', 'python3', ['-c', pythonCheck], ['python3', 'python3-venv'])
  const wanted = join(here, 'python/requirements.txt')
  const folder = await once('python', [wanted], async (building) => {
    await run('python3', ['-m', 'venv', building])
    await run(join(building, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--requirement', wanted])
  })
  const args = ['-B', join(here, 'python/main.py')]
  return { sdk: `openai ${versionIn(wanted, /^openai==(.+)$/m)}`, command: join(folder, 'bin/python'), args }
}

const pythonCheck = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'

export async function installGo(): Promise<Program> {
  const source = join(here, 'go')
  // From 1.21 on Go fetches the release that go.mod asks for by itself.
  await need(
    'Go 1.21 or newer',
    'sh',
    ['-c', "go version | grep -qE 'go(1\\.(2[1-9]|[3-9][0-9])|[2-9])'"],
    ['golang-go'],
  )
  const folder = await once('go', globSync(join(source, '*')), async (building) => {
    const env = { ...process.env, GOFLAGS: '-buildvcs=false -mod=readonly' }
    await run('go', ['build', '-o', join(building, 'program'), '.'], { cwd: source, env })
  })
  const version = versionIn(join(source, 'go.mod'), /openai-go\/v3 (v\S+)/)
  return { sdk: `openai-go ${version}`, command: join(folder, 'program'), args: [] }
}

export async function installJava(): Promise<Program> {
  const source = join(here, 'java')
  const java = ['default-jdk-headless', 'maven']
  await need('JDK 17 or newer, with Maven,', 'sh', ['-c', 'javac --release 17 --version && mvn --version'], java)
  const files = globSync(join(source, '**/*.{java,xml}'))
  const folder = await once('java', files, async (building) => {
    const goals = ['compile', 'dependency:copy-dependencies']
    await run('mvn', ['--quiet', '--batch-mode', `-DbuildFolder=${building}`, ...goals], { cwd: source })
  })
  const path = [join(folder, 'classes'), join(folder, 'dependency', '*')].join(delimiter)
  // A short program: optimisations of the JVM for long runs cost more than they save.
  const args = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', path, 'Main']
  return { sdk: `openai-java ${versionIn(join(source, 'pom.xml'), /<openai>(.+)</)}`, command: 'java', args }
}

/** Installs missing packages by apt, if this process may. */
async function need(what: string, command: string, args: string[], packages: string[]): Promise<void> {
  if (await works(command, args)) return
  if (process.getuid?.() === 0 && (await works('apt-get', ['update', '--quiet']))) {
    const installed = await works('apt-get', ['install', '--yes', '--quiet', '--no-install-recommends', ...packages])
    if (installed && (await works(command, args))) return
  }
  throw new Missing(`${what} is not here; on Debian: apt-get install ${packages.join(' ')}`)
}

async function works(command: string, args: string[]): Promise<boolean> {
  try {
    await run(command, args)
    return true
  } catch {
    return false
  }
}

/** A folder of the cache that `build` filled, once for each version of these files. */
async function once(name: string, files: string[], build: (folder: string) => Promise<void>): Promise<string> {
  const digest = createHash('sha256')
  for (const file of files.sort()) digest.update(readFileSync(file))
  const folder = join(cache, `${name}-${digest.digest('hex').slice(0, 16)}`)
  const done = join(folder, 'done')
  if (existsSync(done)) return folder
  // From an earlier version, or from an interrupted installation.
  for (const old of globSync(join(cache, `${name}-*`))) rmSync(old, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build(folder)
  writeFileSync(done, '')
  return folder
}

function versionIn(file: string, pattern: RegExp): string {
  return pattern.exec(readFileSync(file, 'utf8'))?.[1] ?? '?'
}

async function run(command: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  try {
    await promisify(execFile)(command, args, { ...options, timeout: 900_000, maxBuffer: 2 ** 26 })
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string }
    throw new Error(`${message}\n${stdout}${stderr}`.trim().slice(-3_000))
  }
}
