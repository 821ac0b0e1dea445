import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { spawnServer } from './process.ts'
import { until } from './service.ts'

/* A service with a low limit of open files, and more clients than that. */

const FILMGATE_TOKEN = 'My API Key'
const film = { model: 'studio', prompt: 'a storm over the sea', seconds: '1', size: '256x256' }
const headers = { authorization: `Bearer ${FILMGATE_TOKEN}`, 'content-type': 'application/json', connection: 'close' }

/** Undefined if no connection could be opened. */
async function ask(url: string, body?: object) {
  try {
    const answer = await fetch(url, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      body: (await answer.json()) as { id: string; status: string },
    }
  } catch {
    return undefined
  }
}

/** Clients that connect, send a request or nothing, stay, and reconnect when they are cut off. */
function openCrowd(url: string, size: number): { answers: number[]; leave(): void } {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const answers: number[] = []
  let isOver = false
  const join = (at: number) => {
    if (isOver) return
    const socket = connect(Number(port), hostname)
    sockets.add(socket)
    const question = `GET /v1/videos HTTP/1.1\r\nHost: filmgate\r\nAuthorization: ${headers.authorization}\r\n\r\n`
    // Every fourth sends nothing.
    socket.on('connect', () => at % 4 > 0 && socket.write(question))
    socket.on('data', (bytes) => {
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(bytes.toString()) ?? []
      if (status) answers.push(Number(status))
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      setTimeout(join, 200, at).unref()
    })
  }
  for (let at = 0; at < size; at += 1) join(at)
  return {
    answers,
    leave() {
      isOver = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

it('clients that would use up all files are held off: health responds, tasks finish, and all is well when they leave', async (test) => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-files-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const under = ['sh', '-c', 'ulimit -n 64 && exec "$@"', 'sh']
  await using server = spawnServer({ args: ['--data', join(folder, 'data')], env: { FILMGATE_TOKEN }, under })
  const url = await server.url
  assert.match(server.output.stderr, /only 64 files may be open at once.+raise the limit \(LimitNOFILE=/)
  const crowd = openCrowd(url, 80)
  test.after(crowd.leave)
  await until('some were told to come back', () => crowd.answers.includes(503))
  await until('the service is ready', async () => (await ask(`${url}/readyz`))?.status === 200)
  const ids: string[] = []
  await until('three are accepted', async () => {
    const answer = await ask(`${url}/v1/videos`, film)
    if (answer?.status === 200) ids.push(answer.body.id)
    else if (answer) assert.deepEqual([answer.status, answer.retryAfter], [503, '5'])
    return ids.length === 3
  })
  for (const id of ids)
    await until(`${id} is completed`, async () => {
      const answer = await ask(`${url}/v1/videos/${id}`)
      assert.notEqual(answer?.body.status, 'failed', JSON.stringify(answer?.body))
      return answer?.body.status === 'completed'
    })
  assert.ok(crowd.answers.includes(200))
  crowd.leave()
  await until('there is room', async () => (await ask(`${url}/v1/videos`))?.status === 200)
  for (let at = 0; at < 20; at += 1) assert.equal((await ask(`${url}/v1/videos`))?.status, 200)
  assert.doesNotMatch(server.output.stderr, /provider_un|invalid_image|unsupported_output|"task failed"/)
})
