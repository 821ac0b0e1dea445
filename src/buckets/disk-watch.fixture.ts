import assert from 'node:assert/strict'
import fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname } from 'node:path'

/** A change of the file system. The path is the one that the file was opened with. */
export type DiskEvent =
  | { readonly kind: 'write' | 'sync'; readonly path: string }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string }

/**
 * Reports each successful write, sync and rename of this thread through node:fs, until it is disposed. Not strace,
 * because it is not installed or not permitted everywhere.
 */
export function watchDisk(report: (event: DiskEvent) => void): Disposable {
  const { openSync, writeSync, writeFileSync, fsyncSync, fdatasyncSync, renameSync } = fs
  const { open, rename } = fs.promises
  const paths = new Map<number, string>()
  const write = (path: string): DiskEvent => ({ kind: 'write', path })
  const sync = (path: string): DiskEvent => ({ kind: 'sync', path })
  const move = (from: unknown, to: unknown): DiskEvent => ({ kind: 'rename', path: String(from), to: String(to) })
  const pathOf = (file: unknown) => (typeof file === 'number' ? (paths.get(file) ?? `fd ${file}`) : String(file))

  const watchHandle = (handle: FileHandle, path: string): FileHandle => {
    for (const name of ['write', 'writeFile', 'appendFile'] as const)
      Object.assign(handle, { [name]: reported(report, bound(handle, name), () => write(path)) })
    for (const name of ['sync', 'datasync'] as const)
      Object.assign(handle, { [name]: reported(report, bound(handle, name), () => sync(path)) })
    return handle
  }
  Object.assign(fs, {
    openSync(...args: Parameters<typeof openSync>) {
      const file = openSync(...args)
      paths.set(file, String(args[0]))
      return file
    },
    writeSync: reported(report, writeSync as Call, (file) => write(pathOf(file))),
    writeFileSync: reported(report, writeFileSync as Call, (file) => write(pathOf(file))),
    fsyncSync: reported(report, fsyncSync as Call, (file) => sync(pathOf(file))),
    fdatasyncSync: reported(report, fdatasyncSync as Call, (file) => sync(pathOf(file))),
    renameSync: reported(report, renameSync as Call, move),
  })
  Object.assign(fs.promises, {
    open: async (...args: Parameters<typeof open>) => watchHandle(await open(...args), String(args[0])),
    rename: reported(report, rename as Call, move),
  })
  syncBuiltinESMExports()
  return {
    [Symbol.dispose]() {
      Object.assign(fs, { openSync, writeSync, writeFileSync, fsyncSync, fdatasyncSync, renameSync })
      Object.assign(fs.promises, { open, rename })
      syncBuiltinESMExports()
    },
  }
}

type Call = (...args: unknown[]) => unknown

function bound(handle: FileHandle, name: 'write' | 'writeFile' | 'appendFile' | 'sync' | 'datasync'): Call {
  return handle[name].bind(handle) as Call
}

function reported(report: (event: DiskEvent) => void, call: Call, eventOf: (...args: unknown[]) => DiskEvent): Call {
  return (...args) => {
    const result = call(...args)
    if (result instanceof Promise)
      return result.then((value) => {
        report(eventOf(...args))
        return value
      })
    report(eventOf(...args))
    return result
  }
}

/**
 * After a power cut the whole file exists under its name: its bytes were synced before the rename, and each directory
 * from the file's own up to `root` was synced after its entry on the path was there. Files may share directories.
 */
export function assertDurable(events: readonly DiskEvent[], path: string, root: string): void {
  const named = events.findLastIndex((event) => event.kind === 'rename' && event.to === path)
  const temporary = events[named]?.path
  assert.ok(temporary, `nothing was renamed to ${path}`)
  const last = (kind: 'write' | 'sync') =>
    events.slice(0, named).findLastIndex((event) => event.kind === kind && event.path === temporary)
  assert.ok(last('write') >= 0, `nothing was written to ${temporary}`)
  assert.ok(last('sync') > last('write'), `${temporary} was not synced between its last write and its rename`)
  const firstBelow = (directory: string) =>
    events.findIndex((event) => event.kind === 'rename' && event.to.startsWith(`${directory}/`))
  let entered = named
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    const isSynced = events.slice(entered).some((event) => event.kind === 'sync' && event.path === directory)
    assert.ok(isSynced, `the directory ${directory} was not synced after the rename to ${path}`)
    entered = firstBelow(directory)
    if (directory === root) return
    assert.notEqual(directory, dirname(directory), `${path} is not below ${root}`)
  }
}
