import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** Keeps text in a file. On a disk that is full or read-only it stays as it was: alarms are sent all the same. */
export function openKeptAlarms(file: string) {
  return {
    read(): string | undefined {
      try {
        return readFileSync(file, 'utf8')
      } catch {
        return undefined
      }
    },
    write(text: string): void {
      try {
        writeFileSync(`${file}.part`, text)
        renameSync(`${file}.part`, file)
      } catch {}
    },
  }
}
