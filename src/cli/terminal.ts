import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

/** Input, output, signals and time: the only part of the command line that touches the process itself. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether stdout is a terminal, for tables. */
  readonly stdoutIsTerminal: boolean
  /** Whether stderr is a terminal that can redraw a line, for bars. */
  readonly live: boolean
  /** Whether the command can ask the user. */
  readonly canAsk: boolean
  readonly colour: { stdout: boolean; stderr: boolean }
  /** Whether bars and ticks may use characters beyond ASCII. */
  readonly unicode: boolean
  size(): { columns: number; rows: number }
  now(): number
  /** Resolves after `ms`, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  out(text: string): void
  err(text: string): void
  /** On SIGINT, SIGTERM and SIGHUP, which then no longer end the process. */
  onInterrupt(listener: (name: NodeJS.Signals) => void): Disposable
  onResize(listener: () => void): Disposable
  /** When the process exits, for any reason but a kill. */
  onExit(listener: () => void): Disposable
  /** Ctrl-Z: `stop` runs before the process is suspended, `goOn` after it resumes. */
  onSuspend(stop: () => void, goOn: () => void): Disposable
  /** All of stdin, or null if stdin is a terminal. */
  readInput(): Promise<string | null>
  /** The next key that is pressed, or null when the signal aborts. */
  readKey(signal: AbortSignal): Promise<string | null>
}

export function openTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  const env = process.env
  // A closed reader (`filmgate list | head`, a closed window) must not end in a stack trace.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const colours = !env.NO_COLOR && env.TERM !== 'dumb'
  const live = stderr.isTTY === true && env.TERM !== 'dumb'
  return {
    env,
    live,
    stdoutIsTerminal: stdout.isTTY === true,
    canAsk: live && stdin.isTTY === true,
    colour: { stdout: colours && stdout.isTTY === true, stderr: colours && live },
    unicode: !/^(C|POSIX)$|8859|ascii/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || ''),
    size: () => {
      const { columns = 80, rows = 24 } = stderr.isTTY ? stderr : stdout
      // Some pseudo terminals report 0.
      return { columns: columns || 80, rows: rows || 24 }
    },
    now: () => Date.now(),
    async sleep(ms, signal) {
      await setTimeout(ms, undefined, signal && { signal }).catch(() => {})
    },
    out: (words) => void stdout.write(words),
    err: (words) => void stderr.write(words),
    onInterrupt: (listener) => listen(process, ['SIGINT', 'SIGTERM', 'SIGHUP'], listener),
    onResize: (listener) => listen(stderr, ['resize'], listener),
    onExit: (listener) => listen(process, ['exit'], listener),
    onSuspend(stop, goOn) {
      const suspend = () => {
        stop()
        process.kill(process.pid, 'SIGSTOP')
      }
      const both = [listen(process, ['SIGTSTP'], suspend), listen(process, ['SIGCONT'], goOn)]
      return { [Symbol.dispose]: () => both.forEach((one) => void one[Symbol.dispose]()) }
    },
    readInput: async () => (stdin.isTTY ? null : await text(stdin)),
    readKey,
  }
}

function listen<Args extends unknown[]>(
  source: NodeJS.EventEmitter,
  events: string[],
  listener: (...args: Args) => void,
): Disposable {
  for (const event of events) source.on(event, listener as () => void)
  return {
    [Symbol.dispose]() {
      for (const event of events) source.off(event, listener as () => void)
    },
  }
}

async function readKey(signal: AbortSignal): Promise<string | null> {
  if (signal.aborted) return null
  const { stdin } = process
  const key = Promise.withResolvers<string | null>()
  const onData = (bytes: Buffer) => key.resolve(bytes.toString('utf8'))
  const onAbort = () => key.resolve(null)
  stdin.setRawMode(true)
  stdin.on('data', onData)
  stdin.resume()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await key.promise
  } finally {
    signal.removeEventListener('abort', onAbort)
    stdin.off('data', onData)
    stdin.setRawMode(false)
    stdin.pause()
  }
}
