import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Role } from '../../src/config/places.ts'
import { secrets } from './kill-clients.ts'

/** How long a silent upstream is waited for: most of the time of a drain, and longer than a busy machine needs. */
const silenceMs = 8_000

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** One process of a fleet, through all its lives, on a data folder of its own. */
export class Member {
  readonly name: string
  readonly role: Role
  /** Its address, while it listens. */
  url: string | undefined
  /** It is stopping or stopped: only a kill may disturb it further. */
  busy = false
  log = ''
  /** How it ended by itself, which it never should. */
  readonly failures: string[] = []
  exit: Promise<Exit> = Promise.resolve({ code: 0, signal: null })
  /** Rejects if it ends before it listens. */
  ready: Promise<void> = Promise.resolve()
  readonly #env: Record<string, string>
  #child: ChildProcess | undefined
  #isEnding = false

  constructor(name: string, role: Role, folder: string, env: Record<string, string>) {
    this.name = name
    this.role = role
    const tokens = { FILMGATE_TOKEN: secrets.client, FILMGATE_OPERATOR_TOKEN: secrets.operator }
    const own = { FILMGATE_ROLE: role, FILMGATE_DATA: join(folder, name), FILMGATE_PORT: '0' }
    this.#env = { PATH: process.env.PATH ?? '', ...tokens, ...own, ...env }
  }

  start(): void {
    const script = join(import.meta.dirname, 'kill-service.ts')
    const child = spawn(process.execPath, [script, '0', String(silenceMs)], {
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    this.#isEnding = false
    child.stdin.on('error', () => {})
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.log += text
    })
    // Not 'close': its children may keep the pipes open after its end.
    this.exit = once(child, 'exit').then(([code, signal]) => {
      const listened = this.url !== undefined
      this.url = undefined
      // Its last output may still arrive.
      if (!this.#isEnding) setTimeout((life: Member['exit']) => this.#startAgain(listened, life), 500, this.exit)
      return { code, signal }
    })
    const listening = once(createInterface({ input: child.stdout }), 'line').then(([line]) => {
      if (child.exitCode === null && child.signalCode === null) this.url = String(line)
    })
    const ended = this.exit.then(() => Promise.reject(new Error(`${this.name} ended: ${lastLine(this.log)}`)))
    this.ready = Promise.race([listening, ended])
    ended.catch(() => {})
    this.ready.catch(() => {})
  }

  /** An end that was not requested. Allowed only if there is no database at the start: a supervisor would start it again. */
  #startAgain(listened: boolean, life: Member['exit']): void {
    const words = lastWords(this.log)
    const alone = !listened && words.includes('storage_unavailable')
    if (!alone) this.failures.push(`${this.name} ended by itself: ${words}`)
    if (this.exit === life) this.start()
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL' || signal === 'SIGTERM') this.#isEnding = true
    this.#child?.kill(signal)
  }
}

export const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''

/** Output that is not a line of the log. */
function lastWords(text: string): string {
  const lines = text.trimEnd().split('\n')
  return lines.slice(lines.findLastIndex((line) => line.startsWith('{"time"')) + 1).join('\n')
}
