import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { freePort } from './free-port.ts'
import { openStage, readEvents } from './listening.ts'
import { until } from './service.ts'

/* An nginx between the service and a client, with the proxy settings of deploy/nginx/filmgate.conf. */

const program = '/usr/sbin/nginx'
const missing = !existsSync(program) && `there is no ${program}: apt-get install nginx-light`
const deployed = readFileSync(new URL('../deploy/nginx/filmgate.conf', import.meta.url), 'utf8')

/** As an operator with this many servers fills it in: the file has a second one in a comment. */
function upstreamOf(targets: readonly string[]): string {
  const lines = /^upstream filmgate \{\n[^}]*\}/m.exec(deployed)?.[0].split('\n') ?? assert.fail('there is no upstream')
  const isServer = (line: string) => /^ {2}(# )?server /.test(line)
  const servers = lines.filter(isServer)
  assert.ok(servers.length >= targets.length)
  const named = targets.map((target, at) =>
    servers[at]?.replace('# ', '').replace(/127\.0\.0\.1:\d+/, new URL(target).host),
  )
  return [lines[0], ...named, ...lines.slice(1).filter((line) => !isServer(line))].join('\n')
}

async function startNginx(...targets: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-nginx-'))
  const address = `127.0.0.1:${await freePort()}`
  const passing = deployed.match(/^ {2}proxy_[^;]*;/gm)?.join('\n') ?? assert.fail('it passes nothing on')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const configuration = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {}
    http { access_log off; gzip on; gzip_types text/event-stream; ${temporary.join(' ')}
      ${upstreamOf(targets)}
      server { listen ${address}; ${passing}
        location / { proxy_pass http://filmgate; } } }`
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration)
  const nginx = spawn(program, ['-c', file, '-e', join(folder, 'error.log')], { stdio: 'ignore' })
  const url = `http://${address}`
  await until('nginx answers', () => fetch(url).catch(() => undefined))
  return {
    url,
    async [Symbol.asyncDispose]() {
      if (nginx.kill('SIGTERM')) await once(nginx, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}

it('through nginx each event arrives when it happens, and a client that leaves is forgotten', {
  skip: missing,
}, async () => {
  await using stage = await openStage()
  await using front = await startNginx(stage.url)
  const task = await stage.queued('1')
  const leaving = new AbortController()
  const ask = (path: string) =>
    fetch(`${front.url}${path}`, { signal: leaving.signal, headers: { authorization: 'Bearer alice' } })
  const one = readEvents(await ask(`/v1/videos/${task.id}/events`))
  const all = readEvents(await ask('/v1/videos/events'))
  assert.equal((await one.next())?.event, 'video.queued')
  await stage.begin(task)
  assert.equal((await one.next())?.event, 'video.in_progress')
  assert.equal((await all.next())?.event, 'video.in_progress')
  leaving.abort()
  await Promise.allSettled([one.cancel(), all.cancel()])
  await until('nobody listens any more', () => stage.noticeListeners() === 0)
})

/** Responds to everything with its port. */
async function openServer(port: number) {
  const server = createServer((_, answer) => answer.end(String(port))).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      if (server.listening) await server[Symbol.asyncDispose]()
    },
  }
}

it('through nginx two servers are replaced one after the other, and clients do not notice', {
  skip: missing,
}, async () => {
  const [port, other] = [await freePort(), await freePort()]
  await using first = await openServer(port)
  await using second = await openServer(other)
  await using front = await startNginx(`http://127.0.0.1:${port}`, `http://127.0.0.1:${other}`)
  const answering = async () => {
    const found = new Set<number>()
    for (let number = 0; number < 12; number += 1) {
      const answer = await fetch(front.url, { method: number % 2 ? 'POST' : 'GET' })
      assert.equal(answer.status, 200)
      found.add(Number(await answer.text()))
    }
    return found
  }
  assert.deepEqual(await answering(), new Set([port, other]))
  await first[Symbol.asyncDispose]()
  assert.deepEqual(await answering(), new Set([other]))
  await using _newFirst = await openServer(port)
  await second[Symbol.asyncDispose]()
  assert.deepEqual(await answering(), new Set([port]))
  await using _newSecond = await openServer(other)
  assert.deepEqual(await answering(), new Set([port, other]))
})
