import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { assertPassesContract } from './acme.ts'
import { root } from './packed.ts'

it('the provider of docs/adding-a-provider.md passes the contract as it stands there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-acme-'))
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    await assertPassesContract(folder, (path) => join(root, path))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
