import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick is. */
const ticksPerSecond = 100

/** What a process has used so far, with all that it started: what has ended by now is in its parent's own count. */
export function cpuSeconds(pid: number): number {
  const { own, ended } = timesOf(pid)
  return own + ended + childrenOf(pid).reduce((sum, child) => sum + cpuSeconds(child), 0)
}

/** Without what it started. */
export function ownCpuSeconds(pid: number): number {
  return timesOf(pid).own
}

export function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1])
}

function timesOf(pid: number): { own: number; ended: number } {
  try {
    const fields = fieldsOf(pid)
    const at = (field: number) => Number(fields[field]) / ticksPerSecond
    return { own: at(11) + at(12), ended: at(13) + at(14) }
  } catch {
    // It ended between two looks.
    return { own: 0, ended: 0 }
  }
}

/** Those behind the name, which may have spaces in it: the state is the first. */
function fieldsOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}
