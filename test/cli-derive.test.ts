import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { runCli } from '../src/cli/cli.fixture.ts'
import { difference, everyPicture } from '../src/media/footage.fixture.ts'
import { startService, type TestService, token } from './service.ts'

/* Videos that are derived from other videos, on the command line. */

const cwd = mkdtempSync(join(tmpdir(), 'filmgate-cli-derive-'))
let service: TestService
let env: Record<string, string>
let id: string

before(async () => {
  service = await startService({ yaml: 'default_model: studio' })
  env = { FILMGATE_BASE_URL: service.url, FILMGATE_TOKEN: token }
  const film = ['a red fox in a forest', '--seconds', '1', '--size', '256x256', '--no-caption', '-o', 'fox.mp4']
  const { stdout, stderr } = await runCli(['generate', ...film, '--json'], { env, cwd })
  assert.notEqual(stdout, '', stderr)
  id = JSON.parse(stdout).id
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(cwd, { recursive: true })
})

async function make(...args: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], { env, cwd })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

it('remix and edit make another version, of a video or of a file', async () => {
  const remix = await make('remix', id, 'at night', '-o', 'night.mp4', '--seed', '7')
  assert.deepEqual([remix.prompt, remix.remixed_from_video_id, remix.file], ['at night', id, 'night.mp4'])
  const edit = await make('edit', id, 'at dawn', '-o', 'dawn.mp4')
  assert.deepEqual([edit.seconds, edit.remixed_from_video_id], ['1', id])
  const upload = await make('edit', 'fox.mp4', 'tripod', '-o', 'rain.mp4')
  assert.deepEqual([upload.model, upload.size, upload.remixed_from_video_id], ['studio', '256x256', undefined])
  const pictures = await Promise.all(['fox.mp4', 'rain.mp4'].map((name) => everyPicture(join(cwd, name))))
  assert.ok(difference(pictures[0]?.[12], pictures[1]?.[0]) < 30)
})

it('extend makes a longer one, of a video or of a file, and prints its path', async () => {
  const longer = await make('extend', id, 'night falls', '--seconds', '2', '-o', 'longer.mp4')
  assert.equal(longer.seconds, '3')
  assert.equal((await everyPicture(join(cwd, 'longer.mp4'))).length, 72)
  const { code, stdout } = await runCli(['extend', 'longer.mp4', 'the sun rises', '--seconds', '1'], { env, cwd })
  assert.equal(code, 0)
  assert.match(stdout, /^the-sun-rises-[0-9a-f]{6}\.mp4\n$/)
  assert.equal((await everyPicture(join(cwd, stdout.trim()))).length, 96)
})

it('the end of an id is enough', async () => {
  const end = id.slice(-6)
  for (const args of [['remix'], ['edit'], ['extend', '--seconds', '1']]) {
    const [command = '', ...flags] = args
    const derived = await make(command, end, 'at night', '-o', 'short-id.mp4', ...flags)
    assert.equal(derived.status, 'completed')
    if (command !== 'extend') assert.equal(derived.remixed_from_video_id, id)
  }
  const { code, stderr } = await runCli(['remix', 'abc', 'at night'], { env, cwd })
  assert.deepEqual([code, /'abc' is too short/.test(stderr)], [2, true], stderr)
})

it('mistakes are reported before anything is sent, refusals in the words of the server', async () => {
  writeFileSync(join(cwd, 'none.mp4'), 'no film')
  for (const [args, code, message] of [
    [['remix', id], 2, /the prompt is missing/],
    [['remix', id, ' '], 2, /the prompt is empty/],
    [['extend', id, 'x'], 2, /--seconds is missing/],
    [['extend', id, 'x', '--seconds', 'soon'], 2, /'soon' is not a number/],
    [['remix', id, 'x', '--seconds', '2'], 2, /there is no option --seconds/],
    [['edit', './nothing.mp4', 'x'], 2, /nothing\.mp4 can't be read: there is no such file/],
    [['edit', 'none.mp4', 'x'], 1, /Send an MP4 file with H\.264/],
    [['edit', 'video_none', 'x'], 1, /Video 'video_none' not found/],
    [['extend', id, 'x', '--seconds', '99'], 1, /accepts whole seconds from '1' to '20'/],
  ] as const) {
    const result = await runCli([...args], { env, cwd })
    assert.equal(result.code, code, `${args.join(' ')}: ${result.stderr}`)
    assert.match(result.stderr, message)
  }
})

it('each has help with examples', async () => {
  for (const name of ['remix', 'edit', 'extend']) {
    const { code, stdout } = await runCli([name, '--help'], { env, cwd })
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`^Usage: .*filmgate ${name} ID`))
    assert.ok(stdout.split('\n').every((line) => line.length <= 80))
  }
})
