import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { LoadOptions, LoadResult } from './load.ts'
import type { ServerKind } from './servers.ts'

interface RunningServer extends AsyncDisposable {
  port: number
  pid: number
}

export async function startServer(kind: ServerKind, env: Record<string, string> = {}): Promise<RunningServer> {
  const child = fork(new URL('./servers.ts', import.meta.url), { env: { ...process.env, ...env } })
  child.send(kind)
  const [port] = (await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [0])])) as [number]
  if (port === 0) throw new Error('a bench server did not start')
  return {
    port,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      // It exits then, and a profile of it is written.
      child.disconnect()
      await gone
    },
  }
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const child = fork(new URL('./load.ts', import.meta.url))
  const answered = Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  child.send(options)
  const [result] = (await answered) as [LoadResult?]
  if (!result) throw new Error('the load could not be generated')
  if (result.refused > 0) throw new Error(`${result.refused} requests were refused`)
  return result
}

export const residentMb = (pid: number) => statusMb(pid, 'VmRSS')

/** Without pages of files, which the kernel takes back when it needs them: SQLite maps its database. */
export const ownMb = (pid: number) => statusMb(pid, 'RssAnon')

function statusMb(pid: number, name: string): number {
  const kilobytes = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  // A process that has just ended has no such line.
  return Number(kilobytes ?? 0) / 1024
}
