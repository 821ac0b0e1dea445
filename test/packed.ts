import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerProcess } from './process.ts'

/* The package as `npm pack` creates it from the checkout. */

export const root = join(import.meta.dirname, '..')

/** The environment of a plain shell: `npm test` passes its settings on, and puts its Node first on the PATH. */
export const plainEnv: Record<string, string> = {
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) =>
      /^(npm_|node_test_context|node_compile_cache)/i.test(name) ? [] : [[name, value]],
    ),
  ),
  PATH: (process.env.PATH ?? '')
    .split(':')
    .filter((path) => !path.includes('node_modules'))
    .join(':'),
}

export function run(command: string, args: string[], options: { cwd: string; env?: Record<string, string> }): string {
  const { status, stdout, stderr } = spawnSync(command, args, { env: plainEnv, ...options, encoding: 'utf8' })
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

/** Packs a copy of the checkout, because another run may pack it at the same time. Returns both paths. */
export function packCheckout(folder: string): { tarball: string; copy: string } {
  const copy = join(folder, 'checkout')
  const left = new Set(['node_modules', '.git', '.venv', 'dist', 'filmgate-data'].map((name) => join(root, name)))
  cpSync(root, copy, { recursive: true, filter: (path) => !left.has(path) })
  // The tools of the checkout, and not those of a package with the same name.
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: copy }))
  return { tarball: join(folder, packed.filename), copy }
}

/** What a new user does with a server: create a video, wait for it, download it. */
export async function assertMakesVideo(server: ServerProcess): Promise<void> {
  const url = await server.url
  const headers = { authorization: `Bearer ${/Token +(fg_\w+)/.exec(server.output.stdout)?.[1]}` }
  const body = JSON.stringify({ model: 'studio', prompt: 'a red fox in snow', seconds: '1', size: '256x256' })
  const json = { ...headers, 'content-type': 'application/json' }
  const submitted = await fetch(`${url}/v1/videos`, { method: 'POST', headers: json, body })
  let video = (await submitted.json()) as { id: string; status: string }
  while (video.status === 'queued' || video.status === 'in_progress')
    video = (await (await fetch(`${url}/v1/videos/${video.id}?wait=60`, { headers })).json()) as typeof video
  assert.equal(video.status, 'completed', JSON.stringify(video))
  const content = await fetch(`${url}/v1/videos/${video.id}/content`, { headers })
  assert.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
}
