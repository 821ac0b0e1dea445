import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createCanvas } from '@napi-rs/canvas'
import { spawnServer } from '../process.ts'
import { installGo, installJava, installNode, installPython, Missing, type Program } from './install.ts'
import { startReceiver } from './receiver.ts'
import { type Column, drawTable, rows, type Verdict } from './table.ts'

/*
 * `npm run test:sdks`: OpenAI's own SDKs, each in a program of its language, against one real server. A program asserts
 * on what the SDK hands to its caller, and prints a line of JSON for each row of the table. What a program needs is
 * installed from the registries by its lock file, once.
 */
const languages: Record<string, () => Promise<Program>> = {
  Node: installNode,
  Python: installPython,
  Go: installGo,
  Java: installJava,
}
/** Much longer than any of them takes. */
const patienceMs = 300_000

const out = (text: string) => process.stdout.write(`${text}\n`)
const since = (start: number) => `${((Date.now() - start) / 1_000).toFixed(1)} s`

async function installAll(): Promise<Map<string, Program | Verdict>> {
  const installed = new Map<string, Program | Verdict>()
  for (const [title, install] of Object.entries(languages)) {
    const start = Date.now()
    try {
      const program = await install()
      installed.set(title, program)
      out(`${title}: ${program.sdk}, installed in ${since(start)}`)
    } catch (error) {
      const why = (error as Error).message
      installed.set(title, error instanceof Missing ? { none: why } : { failure: why })
      out(`${title}: ${error instanceof Missing ? 'skipped' : 'failed'}, ${why}`)
    }
  }
  return installed
}

/** One server for all, with a token for each language, so that programs do not see each other's videos. */
async function startWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-sdks-'))
  const config = join(folder, 'filmgate.yaml')
  const tokens = Object.keys(languages).map((title) => ({ name: title, secret: `the key of ${title}` }))
  const aliases = { 'sora-2': 'studio', 'acme/video': 'studio' }
  // JSON is YAML too.
  writeFileSync(
    config,
    JSON.stringify({ aliases, default_model: 'sora-2', tokens, outbound: { allow: ['127.0.0.1'] } }),
  )
  const image = join(folder, 'reference.png')
  const canvas = createCanvas(256, 256)
  canvas.getContext('2d').fillRect(20, 20, 200, 100)
  writeFileSync(image, await canvas.encode('png'))
  const receiver = await startReceiver()
  const server = spawnServer({ env: { FILMGATE_DATA: join(folder, 'data'), FILMGATE_CONFIG: config } })
  return {
    environment: async (title: string) => ({
      BASE_URL: `${await server.url}/v1`,
      TOKEN: `the key of ${title}`,
      RECEIVER: `${receiver.url}/${title}`,
      IMAGE: image,
    }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}

async function runProgram({ command, args }: Program, env: Record<string, string>): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>()
  const child = spawn(command, args, {
    // Nothing else: the environment of the developer may have an address or a key for OpenAI.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  })
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{"')) return
    const { row, ...verdict } = JSON.parse(line) as Verdict & { row: string }
    verdicts.set(row, verdict)
  })
  const [code, signal] = await once(child, 'close')
  const ended = `it said nothing of this, and ended with ${signal ?? code}: ${complaints.trim().slice(-500)}`
  for (const row of rows) if (!verdicts.has(row)) verdicts.set(row, { failure: ended })
  return verdicts
}

const installed = await installAll()
await using world = await startWorld()
const columns: Column[] = []
for (const [title, program] of installed) {
  const start = Date.now()
  if ('command' in program) {
    columns.push({ title, verdicts: await runProgram(program, await world.environment(title)) })
    out(`${title}: ran for ${since(start)}`)
  } else columns.push({ title, verdicts: new Map(rows.map((row) => [row, program])) })
}
out(`\n${drawTable(columns)}`)
const failures = columns
  .flatMap(({ verdicts }) => [...verdicts.values()])
  .filter(({ failure }) => failure !== undefined)
const skipped = [...installed].flatMap(([title, program]) => ('none' in program ? [title] : []))
if (skipped.length > 0) out(`Nobody knows of ${skipped.join(', ')}: skipped.`)
out(failures.length === 0 ? 'All that ran hold.' : `${failures.length} do not hold.`)
process.exitCode = failures.length === 0 ? 0 : 1
