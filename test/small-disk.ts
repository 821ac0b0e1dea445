import { spawnSync } from 'node:child_process'
import { mkdirSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SmallDisk extends Disposable {
  /** Fills the disk, and leaves this many bytes. */
  fill(leave?: number): void
  free(): void
}

/** The reason for a skipped test. */
export const notMounted = 'no small disk can be mounted here: that takes the program mount, and the right to'

/** Mounts a small disk at that path. Returns undefined if this process may not mount, or `mount` is missing. */
export function mountDisk(path: string, options: string): SmallDisk | undefined {
  mkdirSync(path, { recursive: true })
  const { status, error, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], {
    encoding: 'utf8',
  })
  if (error || /permission denied|must be superuser|not permitted/i.test(stderr)) return undefined
  if (status !== 0) throw new Error(`no disk at ${path}: ${stderr}`)
  const ballast = join(path, 'ballast.image')
  return {
    fill(leave = 0) {
      const { bavail, bsize } = statfsSync(path)
      try {
        writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
      } catch {
        // Another process used the last bytes: the disk is full, as wanted.
      }
    },
    free: () => unlinkSync(ballast),
    [Symbol.dispose]: () => void spawnSync('umount', ['-l', path]),
  }
}
