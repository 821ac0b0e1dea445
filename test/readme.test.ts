import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { startService } from './service.ts'

/* Checks what README.md and docs/ say. The examples of the README are run in readme.slow.ts. */
const root = join(import.meta.dirname, '..')

it('every example in docs/configuration.md starts as it stands, and its models can be used', async () => {
  const text = readFileSync(join(root, 'docs', 'configuration.md'), 'utf8')
  const examples = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => yaml)
  assert.ok(examples.length >= 2, 'the examples were not found')
  for (const yaml of examples) {
    await using own = await startService({ yaml, env: { TEAM_A_TOKEN: 'a secret of team a' } })
    const { data } = (await (await own.fetch('/v1/models')).json()) as { data: { id: string }[] }
    assert.ok(data.length > 0)
    for (const { id: model } of data)
      assert.equal((await own.submit({ model, prompt: 'a red fox' })).status, 200, model)
  }
})

/** What a link may name behind `#`, as GitHub makes it of the headings. */
function anchorsOf(page: string): string[] {
  const headings = page.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

it('every link from one page to another leads somewhere', () => {
  const pages = ['README.md', 'ARCHITECTURE.md', ...globSync('docs/*.md', { cwd: root })]
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\((?!http)([^)\s]+)\)/g)) {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? join(root, page) : join(root, page, '..', path)
      assert.ok(existsSync(target), `${page}: ${link}`)
      if (anchor !== undefined) assert.ok(anchorsOf(readFileSync(target, 'utf8')).includes(anchor), `${page}: ${link}`)
    }
  }
})
