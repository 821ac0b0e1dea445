import { mkdtempSync, rmSync } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { openDisk } from '../src/buckets/index.ts'
import { testDamage } from './content-damage.ts'

const root = mkdtempSync(join(tmpdir(), 'filmgate-damage-'))
after(() => rmSync(root, { recursive: true }))
let count = 0

testDamage(async () => {
  const folder = join(root, String(count++))
  const bucket = await openDisk({ folder })
  return {
    bucket,
    async replace(key, bytes) {
      const file = join(folder, bucket.path?.(key) ?? '')
      if (!bytes) return rm(file)
      const before = await stat(file)
      // The clock of a file system has steps of some milliseconds.
      do await writeFile(file, bytes)
      while ((await stat(file)).ctimeMs === before.ctimeMs)
    },
  }
})
