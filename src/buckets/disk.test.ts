import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { testBucket } from './contract.ts'
import { openDisk } from './disk.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-disk-'))
after(() => rmSync(folder, { recursive: true }))

testBucket('disk', {
  open: () => openDisk({ folder }),
  wipe: async () => rmSync(folder, { recursive: true, force: true }),
})
