import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addTask, send, startFakeApi } from './cli.fixture.ts'
import { command as models } from './models.ts'
import { widthOf } from './screen/text.ts'
import { openTerminal } from './terminal.ts'
import { list } from './videos.ts'

/** What a command prints on a terminal of 40 columns. */
async function printed(command: typeof list, url: string): Promise<string[]> {
  let output = ''
  const terminal = {
    ...openTerminal(),
    stdoutIsTerminal: true,
    colour: { stdout: false, stderr: false },
    size: () => ({ columns: 40, rows: 24 }),
    out(text: string) {
      output += text
    },
  }
  assert.equal(await command.run(['--base-url', url, '--token', 'fg'], terminal), 0)
  return output.trimEnd().split('\n')
}

it('a list of running videos fits', async () => {
  await using api = await startFakeApi()
  const task = addTask(api, '{"prompt": "a red fox in snow at dusk", "model": "studio"}')
  Object.assign(task, { status: 'in_progress', progress: 100, created_at: Date.now() / 1000 - 3_000 })
  const lines = await printed(list, api.url)
  for (const line of lines) assert.ok(widthOf(line) <= 40, line)
  assert.match(lines[1] ?? '', /^000000 +drawing 100% +a red fox in/)
})

it('a table of models leaves out what is long before it cuts a size', async () => {
  const size = { min_side: 256, max_side: 1920, default: '1280x720' }
  const studio = {
    id: 'studio',
    seconds: { min: 1, max: 20, default: 4 },
    size,
    image: 'optional',
    owned_by: 'filmgate',
  }
  await using api = await startFakeApi((_, response) => send(response, 200, { object: 'list', data: [studio] }))
  const lines = await printed(models, api.url)
  for (const line of lines) assert.ok(widthOf(line) <= 40, line)
  assert.match(lines[1] ?? '', /^studio +1–20 \(4\) +256–1920 \(1280x720\)$/)
})
