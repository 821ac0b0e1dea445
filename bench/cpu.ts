import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick is. */
const ticksPerSecond = 100

/** CPU that a process and all of its children have used. Children that ended are in the count of their parent. */
export function cpuSeconds(pid: number): number {
  const { own, ended } = timesOf(pid)
  return own + ended + childrenOf(pid).reduce((sum, child) => sum + cpuSeconds(child), 0)
}

/** Without its children. */
export function ownCpuSeconds(pid: number): number {
  return timesOf(pid).own
}

/** Of its first thread alone: in Node, the one that runs the event loop. */
export function mainThreadSeconds(pid: number): number {
  return timesOf(pid, `${pid}/task/${pid}`).own
}

export function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1])
}

function timesOf(pid: number, entry = String(pid)): { own: number; ended: number } {
  try {
    const fields = fieldsOf(entry)
    const at = (field: number) => Number(fields[field]) / ticksPerSecond
    return { own: at(11) + at(12), ended: at(13) + at(14) }
  } catch {
    // The process has ended meanwhile.
    return { own: 0, ended: 0 }
  }
}

/** The fields after the name, which may contain spaces. The first one is the state. */
function fieldsOf(entry: number | string): string[] {
  const text = readFileSync(`/proc/${entry}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}
