import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { childrenOf } from './cpu.ts'

/** The control groups of Linux, in their first and second version. */
const versions = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup'] as const
const isFirst = existsSync(join(versions[0], 'cpu.cfs_quota_us'))
/** Short, so that a process that has used its share soon continues. */
const periodUs = 20_000

/** Whether `limitCpu` works here: it needs root, and control groups for CPU. */
export function canLimitCpu(): boolean {
  const folder = join(versions[isFirst ? 0 : 1], `filmgate-bench-${process.pid}`)
  try {
    mkdirSync(folder)
  } catch {
    return false
  }
  const hasQuota = existsSync(join(folder, isFirst ? 'cpu.cfs_quota_us' : 'cpu.max'))
  rmdirSync(folder)
  return hasQuota
}

/**
 * Gives a process, with its children, a part of one core, as if it were on a small machine of its own. Dispose it after the
 * process has ended.
 */
export function limitCpu(pid: number, cores: number): Disposable {
  const folder = join(versions[isFirst ? 0 : 1], `filmgate-bench-${pid}`)
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
  const quotaUs = Math.round(cores * periodUs)
  mkdirSync(folder)
  if (isFirst) {
    write('cpu.cfs_period_us', `${periodUs}`)
    write('cpu.cfs_quota_us', `${quotaUs}`)
  } else write('cpu.max', `${quotaUs} ${periodUs}`)
  for (const one of familyOf(pid)) write('cgroup.procs', `${one}`)
  return {
    [Symbol.dispose]() {
      try {
        rmdirSync(folder)
      } catch {
        // A child has not ended yet. An empty group does no harm.
      }
    },
  }
}

/** Children that start later are in the group of their parent. */
function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(familyOf)]
}
