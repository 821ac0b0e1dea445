import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { identityOf, openDataFolder } from './data-folder.ts'

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

it('a read-only lock file is refused, because it would lock no process out', { skip: asRoot }, () => {
  const path = join(root, 'read-only')
  openDataFolder(path)[Symbol.dispose]()
  chmodSync(join(path, 'lock.db'), 0o444)
  for (let start = 0; start < 2; start += 1)
    assert.throws(
      () => openDataFolder(path),
      /the data folder .+ can't be used \(.*readonly.*\); choose one that can be/,
    )
})

const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8)

function folderWith(mode: number, files: readonly string[] = []): string {
  const path = mkdtempSync(join(root, 'mode-'))
  for (const name of files) {
    writeFileSync(join(path, name), '')
    chmodSync(join(path, name), 0o644)
  }
  chmodSync(path, mode)
  return path
}

it('a folder that exists is closed to other users, with everything that is and that comes to be in it', () => {
  for (const [mode, files, expected] of [
    [0o755, [], '700'],
    [0o755, ['filmgate.db', 'lock.db', 'identity'], '700'],
    [0o777, ['filmgate.db'], '700'],
    [0o711, [], '700'],
    [0o700, [], '700'],
  ] as const) {
    const path = folderWith(mode, files)
    using folder = openDataFolder(path)
    writeFileSync(folder.models, '{}')
    mkdirSync(folder.spill)
    assert.equal(modeOf(path), expected, mode.toString(8))
    assert.equal(folder.warning, null)
    for (const name of readdirSync(path)) assert.match(modeOf(join(path, name)), /00$/, name)
  }
})

it('a group with access on purpose keeps it, and the operator is warned', () => {
  for (const [mode, expected, inside] of [
    [0o750, '750', '640'],
    [0o775, '770', '660'],
    [0o770, '770', '660'],
  ] as const) {
    const path = folderWith(mode)
    using folder = openDataFolder(path)
    writeFileSync(folder.models, '{}')
    assert.equal(modeOf(path), expected)
    assert.equal(modeOf(folder.models), inside)
    assert.match(
      folder.warning ?? '',
      /^users of the group \d+ can read the data folder, tokens included; chmod 700 it/,
    )
  }
})

it('a volume that Kubernetes shares with a group by fsGroup stays so, without a warning', () => {
  const path = folderWith(0o2777)
  using folder = openDataFolder(path)
  writeFileSync(folder.models, '{}')
  assert.deepEqual([modeOf(path), modeOf(folder.models), folder.warning], ['2770', '660', null])
})

it('a folder of other programs is left as it is', () => {
  for (const path of [folderWith(0o755, ['passwd']), folderWith(0o1777, ['lock.db'])]) {
    const before = modeOf(path)
    const message =
      /can be read by other users of this machine \(mode \d+\), and has files that are not Filmgate's; choose/
    assert.throws(() => openDataFolder(path), { message })
    assert.equal(modeOf(path), before)
  }
})

const notRoot = process.getuid?.() !== 0 && 'only root can make a folder that belongs to another user'

it("a folder of another user that everybody can read is refused; a pod's volume is not", { skip: notRoot }, () => {
  const place = mkdtempSync('/tmp/filmgate-foreign-')
  try {
    chmodSync(place, 0o755)
    const open = (mode: number) => {
      const path = mkdtempSync(join(place, 'data-'))
      chmodSync(path, mode)
      const code = `const { keepOthersOut } = await import('${import.meta.resolve('./data-folder.ts')}')
        try { console.log(keepOthersOut('${path}'), process.umask()) } catch (error) { console.log(error.message) }`
      const options = { uid: 65_534, gid: 65_534, encoding: 'utf8' as const, cwd: '/' }
      return execFileSync(process.execPath, ['--input-type=module', '-e', code], options).trim()
    }
    assert.match(
      open(0o777),
      /^the data folder .+ \(mode 0777\), and does not belong to this user; chown it to this user/,
    )
    assert.equal(open(0o2777), 'null 7')
  } finally {
    rmSync(place, { recursive: true })
  }
})

it('a process keeps its name, and gets a new one if a full disk lost it', () => {
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))
  const folder = mkdtempSync(join(root, 'identity-'))
  const file = join(folder, 'identity')
  writeFileSync(file, '')
  const name = identityOf(file, random)
  assert.match(name, /^[0-9a-f]{12}$/)
  assert.equal(identityOf(file, random), name)
  assert.deepEqual(readdirSync(folder), ['identity'])
})
