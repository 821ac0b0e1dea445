import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { Socket } from 'node:net'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { watchMemory } from './memory.ts'
import type { Answer, Request, Told } from './protocol.ts'

/** One process that runs `child.ts`. */
export interface Child {
  readonly pid: number
  /** False from the moment that it is killed or gone: never to be used again. */
  readonly usable: boolean
  /** Resolves when the process is gone, with what is known of the reason. */
  readonly gone: Promise<Gone>
  /**
   * One request at a time. Throws the problem that the child reports, a problem that is not retryable when the child took
   * too much memory, `ChildLost` when it dies, and an error that is `storage_unavailable` to `Problem.from` when the
   * system could not start it.
   */
  run(request: Request, onProgress: (percent: number) => void): Promise<Answer>
  /** Whether the child keeps this process alive: a busy one does, an idle one must not. */
  hold(on: boolean): void
  /** The CPU time that it has used so far; 0 where the system does not say. */
  cpuMs(): number
  kill(): void
}

interface Gone {
  reason: string
  signal: NodeJS.Signals | null
}

export class ChildLost extends Error {
  /** It was ended from outside, as the kernel does when memory is short: it did not crash over its job. */
  readonly killed: boolean
  constructor({ reason, signal }: Gone) {
    super(reason)
    this.killed = signal !== null && !crashes.has(signal)
  }
}

/** What a process does to itself. */
const crashes: ReadonlySet<NodeJS.Signals> = new Set([
  ...(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS'] as const),
])

const stderrKept = 2000

/** `kind`: of the jobs to come, for which the child gets ready at once. `nice`: how far it yields to this process. */
export function startChild(clock: Clock, kind: Request['kind'], nice: number): Child {
  // Published packages hold .js files: the child has the extension that this file has.
  const path = fileURLToPath(new URL(`./child${extname(import.meta.url)}`, import.meta.url))
  const compileCache = getCompileCacheDir()
  const child = fork(path, [kind, String(nice)], {
    // No secrets and no settings: whoever takes over a child finds nothing. Nor flags of the parent, such as an inspector.
    env: compileCache ? { NODE_COMPILE_CACHE: compileCache } : {},
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let usable = true
  const gone = whenGone(child)
  const kill = () => {
    usable = false
    child.kill('SIGKILL')
  }
  void gone.then(() => {
    usable = false
  })
  return {
    pid: child.pid ?? 0,
    get usable() {
      return usable
    },
    gone,
    async run(request, onProgress) {
      // No more files or processes for us at the moment: nobody's job is to blame.
      if (child.pid === undefined) throw Object.assign(new Error((await gone).reason), { code: 'EAGAIN' })
      using memory = watchMemory(clock, { pid: child.pid, kill }, request)
      try {
        return await converse({ child, gone, kill }, request, onProgress)
      } catch (thrown) {
        throw memory.problem ?? thrown
      }
    },
    hold(on) {
      const change = on ? 'ref' : 'unref'
      child[change]()
      child.channel?.[change]()
      if (child.stderr instanceof Socket) child.stderr[change]()
    },
    cpuMs: () => cpuMsOf(child.pid),
    kill,
  }
}

/** Of all its threads, in user and in system mode. Linux counts in hundredths of a second, whatever its own clock. */
function cpuMsOf(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // Its name is in brackets and may have spaces; behind it come the state and then numbers.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    // Not Linux, or the child is gone.
    return 0
  }
}

function whenGone(child: ChildProcess): Promise<Gone> {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrKept)
  })
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      const reason = `the media child ended with ${signal ?? `code ${code}`}${stderr && `: ${stderr.trim()}`}`
      resolve({ reason, signal })
    })
    child.on('error', (error) => {
      // Also emitted for a message that could not be sent; then the end of the process follows.
      if (child.pid === undefined) resolve({ reason: `the media child did not start: ${error.message}`, signal: null })
    })
  })
}

interface Running {
  child: ChildProcess
  gone: Promise<Gone>
  kill(): void
}

function converse(running: Running, request: Request, onProgress: (percent: number) => void): Promise<Answer> {
  const { child, gone, kill } = running
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const listen = (told: Told) => {
    try {
      if (told.kind === 'done') resolve(told.value)
      else if (told.kind === 'failed') reject(problemOf(told))
      else onProgress(told.percent)
    } catch (thrown) {
      // The listener of the caller failed, not the child; but nobody wants the rest of this job.
      reject(thrown)
      kill()
    }
  }
  // Not a reaction to `gone`: it would keep this request, and its image, for as long as the child lives.
  const lose = () => void gone.then((end) => reject(new ChildLost(end)))
  child.on('message', listen)
  child.once('close', lose)
  // A failure to send means that the child is going; `gone` tells.
  child.send(request, () => {})
  return promise.finally(() => child.off('message', listen).off('close', lose))
}

function problemOf(told: Extract<Told, { kind: 'failed' }>): Problem {
  const { code, message, retryable, cause } = told.problem
  return new Problem(code, message, { retryable, ...(cause !== null && { cause }) })
}
