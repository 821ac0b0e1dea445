import { arch, cpus, release, totalmem, type } from 'node:os'

/** Where figures are from. */
export function machineOf(): string {
  return `${type()} ${release().split('-')[0]} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim() || 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
}
