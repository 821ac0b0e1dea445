import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openDisk } from '../src/buckets/index.ts'
import { authorization, type ContentServer, serveContent } from './content-server.ts'
import { freePort } from './free-port.ts'
import { until } from './service.ts'

const program = '/usr/sbin/nginx'
const missing = !existsSync(program) && `there is no ${program}: apt-get install nginx-light`
const folder = mkdtempSync(join(tmpdir(), 'filmgate-accel-'))
after(() => rmSync(folder, { recursive: true }))

it('what a bucket can not do is said at the start', async () => {
  const { path, ...rest } = await openDisk({ folder: join(folder, 'other') })
  await assert.rejects(serveContent({ ...rest }, 'redirect'), /no links to redirect to/)
  await assert.rejects(serveContent({ ...rest }, { accel: '/protected/' }), /no folder that a front server/)
})

describe('nginx in front, configured as the documentation says', { skip: missing }, () => {
  let server: ContentServer
  let front: string
  let stop: () => Promise<void>

  before(async () => {
    server = await serveContent(await openDisk({ folder: join(folder, 'bucket') }), { accel: '/protected' })
    const address = `127.0.0.1:${await freePort()}`
    front = `http://${address}`
    stop = await startNginx(address, server.url)
    await until('nginx answers', () => fetch(front).catch(() => undefined))
  })
  after(async () => {
    await stop()
    await server.stop()
  })

  const ask = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${front}${server.path}`, { method, headers: { authorization, ...headers } })

  it('sends the video with all that we say about it', async () => {
    const answer = await ask()
    assert.equal(answer.status, 200)
    const head = await ask({}, 'HEAD')
    const names = ['etag', 'last-modified', 'content-type', 'content-disposition', 'cache-control', 'accept-ranges']
    const safety = [
      'content-security-policy',
      'cross-origin-resource-policy',
      'x-content-type-options',
      'content-length',
    ]
    for (const name of [...names, ...safety]) {
      assert.ok(answer.headers.get(name), name)
      assert.equal(answer.headers.get(name), head.headers.get(name), name)
    }
    assert.equal(answer.headers.get('x-accel-redirect'), null)
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_/)
    assert.ok(server.video.equals(Buffer.from(await answer.arrayBuffer())))
  })

  it('sends parts, and knows our tag in a condition', async () => {
    const part = await ask({ range: 'bytes=250-259', 'if-range': server.etag })
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 250-259/100000'])
    assert.ok(server.video.subarray(250, 260).equals(Buffer.from(await part.arrayBuffer())))
    assert.equal((await ask({ range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
    assert.equal((await ask({ range: 'bytes=100000-' })).status, 416)
    assert.equal((await ask({ range: 'bytes=0-1,3-4' })).status, 200)
    assert.equal((await ask({ 'if-none-match': server.etag })).status, 304)
  })

  it('sends nothing to whom we refuse, and nothing by its own path', async () => {
    assert.equal((await ask({ authorization: 'Bearer wrong' })).status, 401)
    const { key } = server.task.video ?? { key: '' }
    const own = (await openDisk({ folder: join(folder, 'third') })).path?.(key)
    assert.equal((await fetch(`${front}/protected/${own}`, { headers: { authorization } })).status, 404)
    const { expiresAt } = server.task
    server.task.expiresAt = Date.now() - 1
    assert.equal((await ask()).status, 410)
    server.task.expiresAt = expiresAt
  })
})

async function startNginx(address: string, target: string): Promise<() => Promise<void>> {
  const documentation = readFileSync(join(import.meta.dirname, '../docs/buckets.md'), 'utf8')
  const locations = /```nginx\n([\s\S]*?)```/.exec(documentation)?.[1] ?? assert.fail('no configuration is documented')
  const adapted = locations
    .replace('http://127.0.0.1:8484', target)
    .replace('/var/lib/filmgate/bucket/', `${join(folder, 'bucket')}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n')
  const lines = [
    ...[process.getuid?.() === 0 ? 'user root;' : '', 'daemon off;', `pid ${join(folder, 'pid')};`, 'events {}'],
    ...[`http {`, 'access_log off;', temporary, `server { listen ${address};`, adapted, '} }'],
  ]
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, lines.join('\n'))
  const nginx = spawn(program, ['-c', file, '-e', join(folder, 'error.log')], { stdio: 'ignore' })
  return async () => {
    if (nginx.kill('SIGTERM')) await once(nginx, 'exit')
  }
}
