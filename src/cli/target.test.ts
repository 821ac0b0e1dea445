import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type FakeApi, filmBytes, runCli, startFakeApi } from './cli.fixture.ts'

/* Where films may go. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-target-'))
after(() => rmSync(root, { recursive: true }))
const newFolder = () => mkdtempSync(join(root, 'x-'))
const envFor = ({ url }: FakeApi) => ({ FILMGATE_BASE_URL: url, FILMGATE_TOKEN: 'fg' })

describe("an output that can't hold a video is refused before any request", () => {
  const cwd = newFolder()
  writeFileSync(join(cwd, 'file'), 'kept')
  spawnSync('mkfifo', [join(cwd, 'pipe')])
  symlinkSync('/dev/null', join(cwd, 'to-device'))
  symlinkSync('circle', join(cwd, 'circle'))
  symlinkSync('gone/x.mp4', join(cwd, 'to-gone'))
  const cases: [place: string, text: RegExp][] = [
    ['', /-o is empty/],
    ['-', /can't be written to stdout/],
    ['/dev/null', /-o \/dev\/null: it is neither a file nor a folder/],
    ['pipe', /it is neither a file nor a folder/],
    ['to-device', /it is neither a file nor a folder/],
    ['circle', /its links form a loop/],
    ['to-gone', /there is no folder .*gone; create it first/],
    ['file/x.mp4', /file is not a folder/],
    ['file/', /file\/ is not a folder/],
    [`${'ü'.repeat(130)}.mp4`, /the name is too long/],
  ]
  for (const [place, text] of cases) {
    it(place || 'nothing', async () => {
      await using api = await startFakeApi()
      const { code, stderr } = await runCli(['generate', 'x', '-o', place], { env: envFor(api), cwd })
      assert.equal(code, 2, stderr)
      assert.match(stderr, text)
      assert.deepEqual(api.requests, [])
      assert.ok(lstatSync(join(cwd, 'pipe')).isFIFO())
    })
  }

  it('of a batch', async () => {
    await using api = await startFakeApi()
    writeFileSync(join(cwd, 'prompts.jsonl'), '{"prompt": "x", "name": "taken"}')
    mkdirSync(join(cwd, 'out', 'taken.mp4'), { recursive: true })
    for (const [place, text] of [
      ['file', /-o file: it is not a folder/],
      ['file/out', /it is not a folder/],
      ['out', /line 1: name: taken\.mp4 can't be written: it is a folder/],
    ] as const) {
      const { code, stderr } = await runCli(['batch', 'prompts.jsonl', '-o', place], { env: envFor(api), cwd })
      assert.equal(code, 2, stderr)
      assert.match(stderr, text)
    }
    assert.deepEqual(api.requests, [])
  })
})

it('a link is followed, even to a file that does not exist yet', async () => {
  const cwd = newFolder()
  await using api = await startFakeApi()
  mkdirSync(join(cwd, 'elsewhere'))
  writeFileSync(join(cwd, 'elsewhere', 'old.mp4'), 'an older film')
  for (const name of ['old.mp4', 'new.mp4']) {
    symlinkSync(`elsewhere/${name}`, join(cwd, name))
    const { code, stdout, stderr } = await runCli(['generate', 'x', '-o', name], { env: envFor(api), cwd })
    assert.deepEqual([code, stdout], [0, `${name}\n`], stderr)
    assert.equal(readlinkSync(join(cwd, name)), `elsewhere/${name}`)
    assert.deepEqual(readFileSync(join(cwd, 'elsewhere', name)), filmBytes)
  }
  assert.deepEqual(readdirSync(join(cwd, 'elsewhere')), ['new.mp4', 'old.mp4'])
})

it('a file name may have the maximum length', async () => {
  const cwd = newFolder()
  await using api = await startFakeApi()
  const name = `${'x'.repeat(251)}.mp4`
  const { code, stderr } = await runCli(['generate', 'x', '-o', name], { env: envFor(api), cwd })
  assert.equal(code, 0, stderr)
  assert.deepEqual(readdirSync(cwd), [name])
})
