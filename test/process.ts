import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export const launcher = join(import.meta.dirname, '..', 'bin', 'filmgate.js')

/** The real program in a process of its own, as an operator runs it. */
export interface ServerProcess extends AsyncDisposable {
  readonly child: ChildProcess
  /** Its output so far. */
  readonly output: { stdout: string; stderr: string }
  /** Resolves with the base URL (no path) once the banner is out; rejects if the process ends before. */
  readonly url: Promise<string>
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export interface SpawnOptions {
  args?: string[]
  env?: Record<string, string>
  cwd?: string
  /** The program that starts a server. By default it is the launcher of the checkout. */
  program?: string[]
  /** A program and its arguments to run it under. */
  under?: string[]
}

const ofCheckout = [process.execPath, launcher, 'serve']

export function spawnServer(options: SpawnOptions): ServerProcess {
  const { args = [], env = {}, cwd, program = ofCheckout, under = [] } = options
  const [command = '', ...rest] = [...under, ...program, ...args]
  const child = spawn(command, rest, {
    env: { PATH: process.env.PATH ?? '', FILMGATE_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Not the current folder: it may have a filmgate.yaml of the developer.
    cwd: cwd ?? tmpdir(),
  })
  const output = { stdout: '', stderr: '' }
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk
  })
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const url = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      output.stdout += `${line}\n`
      const base = /(?:Base URL|Health) +(\S+)\/(?:v1|readyz)$/.exec(line)?.[1]
      if (base) resolve(base)
    })
    exit.then(() => reject(new Error(`the server ended: ${output.stderr}`)), reject)
  })
  url.catch(() => {})
  return {
    child,
    output,
    url,
    exit,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
