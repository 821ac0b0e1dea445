import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openDataFolder } from './data-folder.ts'

const root = mkdtempSync(join(tmpdir(), 'filmgate-folder-'))
after(() => rmSync(root, { recursive: true }))

it('a folder is one process’s at a time, and the next one’s when it is let go', () => {
  const path = join(root, 'shared')
  {
    using _first = openDataFolder(path)
    assert.throws(() => openDataFolder(path), /another Filmgate is already running on the data folder .+; stop it, or/)
  }
  using again = openDataFolder(path)
  assert.equal(again.path, path)
})

const asRoot = process.getuid?.() === 0 && 'root may write to what is read-only: run this as another user'

it('a lock that can only be read locks nobody out, so it is refused', { skip: asRoot }, () => {
  const path = join(root, 'read-only')
  openDataFolder(path)[Symbol.dispose]()
  chmodSync(join(path, 'lock.db'), 0o444)
  for (let start = 0; start < 2; start += 1)
    assert.throws(
      () => openDataFolder(path),
      /the data folder .+ can't be used \(.*readonly.*\); choose one that can be/,
    )
})
