import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { mountDisk, notMounted } from '../../../test/small-disk.ts'
import { type FakeApi, runCli, startFakeApi } from '../cli.fixture.ts'

const root = mkdtempSync(join(tmpdir(), 'filmgate-folder-'))
after(() => rmSync(root, { recursive: true }))
const newFolder = () => mkdtempSync(join(root, 'x-'))
const envFor = ({ url }: FakeApi) => ({ FILMGATE_BASE_URL: url, FILMGATE_TOKEN: 'fg' })
const submits = ({ requests }: FakeApi) => requests.filter((line) => line === 'POST /v1/videos').length

describe('a folder of several batches', () => {
  const batch = (api: FakeApi, cwd: string, list: string) =>
    runCli(['batch', list, '-o', 'out'], { env: envFor(api), cwd })

  it('gives a name to one video: another list with the same name is refused before any submit', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi()
    writeFileSync(join(cwd, 'foxes'), '{"prompt": "a fox", "name": "film"}\n')
    writeFileSync(join(cwd, 'wolves'), '# other\n{"prompt": "a wolf", "name": "Film"}\n')
    assert.equal((await batch(api, cwd, 'foxes')).code, 0)
    const refused = await batch(api, cwd, 'wolves')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /line 2: name: film\.mp4 is the video of another line; choose another name/)
    assert.equal(submits(api), 1)
    // With that film out of the way it may be made, and then it is no film of the first list any more.
    rmSync(join(cwd, 'out', 'film.mp4'))
    assert.equal((await batch(api, cwd, 'wolves')).code, 0)
    assert.equal((await batch(api, cwd, 'foxes')).code, 2)
  })

  it('keeps the partial files of other commands', async () => {
    const cwd = newFolder()
    await using api = await startFakeApi()
    mkdirSync(join(cwd, 'out'))
    const [own, other] = ['.filmgate-batch-0123abcd.part', '.filmgate-0123abcd.part']
    for (const name of [own, other]) writeFileSync(join(cwd, 'out', name), 'half')
    writeFileSync(join(cwd, 'list'), 'a fox\n')
    assert.equal((await batch(api, cwd, 'list')).code, 0)
    assert.deepEqual(
      readdirSync(join(cwd, 'out')).filter((name) => name.endsWith('.part')),
      [other],
    )
  })

  it('on a full disk submits nothing more, and goes on when there is room', async (test) => {
    const cwd = newFolder()
    const out = join(cwd, 'out')
    using disk = mountDisk(out, 'size=256k')
    if (!disk) return test.skip(notMounted)
    await using api = await startFakeApi((request, response) => {
      if (!request.url?.endsWith('/content')) return false
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(Buffer.alloc(2 ** 19))
      return true
    })
    writeFileSync(join(cwd, 'list'), 'a fox\na wolf\na bear\n')
    const run = () => runCli(['batch', 'list', '-o', 'out', '-n', '1'], { env: envFor(api), cwd })
    const first = await run()
    assert.equal(first.code, 1)
    assert.match(first.stdout, /left running +the disk is full\n.+not started +the disk is full\n/)
    assert.match(first.stderr, /Run the same command again to go on\./)
    assert.equal(submits(api), 1)
    assert.equal(spawnSync('mount', ['-o', 'remount,size=8m', out]).status, 0)
    const second = await run()
    assert.equal(second.code, 0, second.stderr)
    assert.equal(api.tasks.length, 3)
  })
})
