import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { Socket } from 'node:net'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type ChildMessage, type JobRequest, type JobResult, stillBusy } from './protocol.ts'

/** One process that runs `child.ts`. */
export interface Child {
  readonly pid: number
  /** False once it was killed or has ended. */
  readonly usable: boolean
  /** Resolves when the process has ended, with the reason as far as it is known. */
  readonly gone: Promise<ChildEnd>
  /**
   * One request at a time. Throws the problem that the child reports, a problem that is not retryable if the child used
   * too much memory, `ChildLost` if it dies, and an error that `Problem.from` maps to `storage_unavailable` if the system
   * could not start it.
   */
  run(request: JobRequest, onProgress: (percent: number) => void): Promise<JobResult>
  /** Whether the child keeps this process alive: a busy one does, an idle one must not. */
  hold(on: boolean): void
  /** The CPU time that it has used so far; 0 if the system does not report it. */
  cpuMs(): number
  kill(): void
}

interface ChildEnd {
  reason: string
  signal: NodeJS.Signals | null
}

export class ChildLost extends Error {
  /** It was killed from outside, for example by the kernel when memory is short. It did not crash on its job. */
  readonly killed: boolean
  constructor({ reason, signal }: ChildEnd) {
    super(reason)
    this.killed = signal !== null && !crashes.has(signal)
  }
}

/** Signals that a process causes itself. */
const crashes: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>([
  'SIGSEGV',
  'SIGABRT',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
  'SIGSYS',
])

const stderrKept = 2000

/** `kind`: the jobs that the child loads its packages for. `nice`: its priority below this process. */
export function startChild(clock: Clock, kind: JobRequest['kind'], nice: number): Child {
  // Published packages contain .js files: the child has the same extension as this file.
  const path = fileURLToPath(new URL(`./child${extname(import.meta.url)}`, import.meta.url))
  const compileCache = getCompileCacheDir()
  const child = fork(path, [kind, String(nice)], {
    // No secrets and no settings, in case hostile media take over the child. No flags of the parent, such as --inspect.
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
      // The system is out of files or processes: not the fault of the job.
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

/** The time of all threads in user and system mode. Linux always counts in hundredths of a second. */
function cpuMsOf(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name is in brackets and may contain spaces. After it come the state and then numbers.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    // Not Linux, or the child has ended.
    return 0
  }
}

function whenGone(child: ChildProcess): Promise<ChildEnd> {
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
      // Also emitted for a message that could not be sent. Then the process ends, and `close` follows.
      if (child.pid === undefined) resolve({ reason: `the media child did not start: ${error.message}`, signal: null })
    })
  })
}

interface Running {
  child: ChildProcess
  gone: Promise<ChildEnd>
  kill(): void
}

function converse(running: Running, request: JobRequest, onProgress: (percent: number) => void): Promise<JobResult> {
  const { child, gone, kill } = running
  const { promise, resolve, reject } = Promise.withResolvers<JobResult>()
  const listen = (message: ChildMessage) => {
    try {
      if (message.kind === 'done') resolve(message.value)
      else if (message.kind === 'failed') {
        reject(problemOf(message))
        if (message.problem.cause === stillBusy) kill()
      } else onProgress(message.percent)
    } catch (thrown) {
      // The caller's listener failed, not the child. The rest of the job is not needed.
      reject(thrown)
      kill()
    }
  }
  // Not `gone.then` directly: it would keep this request and its image in memory for as long as the child lives.
  const lose = () => void gone.then((end) => reject(new ChildLost(end)))
  child.on('message', listen)
  child.once('close', lose)
  // A failure to send means that the child is ending. `gone` reports that.
  child.send(request, () => {})
  return promise.finally(() => child.off('message', listen).off('close', lose))
}

function problemOf({ problem }: Extract<ChildMessage, { kind: 'failed' }>): Problem {
  const { code, message, retryable, cause } = problem
  return new Problem(code, message, { retryable, ...(cause !== null && { cause }) })
}

/*
 * How much memory a child may use while it works, native libraries included. A system limit is not possible: V8 reserves
 * far more addresses than it uses, and a refused reservation ends the process, which looks like a crash.
 */

const memoryCheckMs = 100
/** A video of 8192x4320 pixels takes half of it. */
const usualMemoryBytes = 1536 * 2 ** 20
/** Uploads are smaller, and the machine that runs the API may have little more. */
const uploadMemoryBytes = 512 * 2 ** 20

interface MemoryWatch extends Disposable {
  /** Why the child was killed. */
  readonly problem: Problem | undefined
}

/** Kills the process when it uses more memory than its request may take. Works on Linux only. */
function watchMemory(clock: Clock, { pid, kill }: { pid: number; kill(): void }, request: JobRequest): MemoryWatch {
  const over = new AbortController()
  const limit = request.kind === 'check' ? uploadMemoryBytes : usualMemoryBytes
  let problem: Problem | undefined
  async function watch(): Promise<void> {
    // Memory that earlier jobs left in the child does not count.
    const before = residentBytes(pid) ?? 0
    for (;;) {
      await clock.sleep(memoryCheckMs, over.signal)
      const bytes = over.signal.aborted ? undefined : residentBytes(pid)
      if (bytes === undefined) return
      if (bytes - before > limit) {
        problem = tooDemanding(request, `the media child took ${bytes - before} bytes of memory, and may take ${limit}`)
        return kill()
      }
    }
  }
  void watch()
  return {
    get problem() {
      return problem
    },
    [Symbol.dispose]: () => over.abort('over'),
  }
}

/** Undefined if the system does not report it, or the process has ended. Read synchronously: the file is not on a disk. */
function residentBytes(pid: number): number | undefined {
  try {
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}

/** Not retryable: the same job would take as much memory again. */
function tooDemanding({ kind }: JobRequest, cause: string): Problem {
  switch (kind) {
    case 'render':
      return new Problem('generation_failed', 'The video takes too much memory to generate.', { cause })
    case 'inspect':
      return new Problem('invalid_image', 'The image cannot be used. It takes too much memory to decode.', { cause })
    case 'check':
      return new Problem('invalid_value', 'The video takes too much memory to check. Send a simpler one.', { cause })
    default:
      return new Problem('unsupported_output', 'The video cannot be used. It takes too much memory to decode.', {
        cause,
      })
  }
}
