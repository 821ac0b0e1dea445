import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Duel, type Measure, models, type Target, type World } from './duel.ts'
import { jsonBytes, send } from './senders.ts'
import { ask, newPrompt, post, submit } from './working.ts'

const endpoints = 16
/** Each is an event for every endpoint. */
const failures = 100

/** Receivers that answer just before the service gives up on them, and thousands of events for them. */
export const webhooks: Duel = {
  title: `${endpoints} webhook endpoints that answer after 9 to 14 s`,
  lanes: 8,
  jobMs: 50,
  async openAttack({ answers }) {
    let held = 0
    const servers: Server[] = Array.from({ length: endpoints }, () =>
      createServer(async (request, response) => {
        if (request.method === 'GET') return void response.writeHead(404).end()
        held += 1
        await pause(9_000 + Math.random() * 5_000)
        response.end()
      }),
    )
    for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
    const hosts = servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`)
    return {
      allow: hosts,
      async begin(target) {
        await createEndpoints(target, hosts)
        // No image is there, so each of them fails at once.
        const next = (number: number) =>
          jsonBytes(target, '/v1/videos', {
            model: models.attacking,
            prompt: `failing ${number}`,
            image: `http://${hosts[0]}/none.png`,
          })
        await send({ target, senders: 10, count: failures, next }, answers)
        // A service may well give a slow receiver less than it could.
        for (let waited = 0; held < endpoints && waited < 10_000; waited += 50) await pause(50)
      },
    }
  },
  async openMeasures(world) {
    const fields = { name: 'hook', url: `${world.host.url}/hook`, event_types: ['video.completed'] }
    await post(world.target, '/v1/webhook_endpoints', fields)
    return [arrivalMeasure(world)]
  },
}

async function createEndpoints(target: Target, hosts: readonly string[]): Promise<void> {
  for (const [at, host] of hosts.entries())
    await post(target, '/v1/webhook_endpoints', {
      name: `slow ${at}`,
      url: `http://${host}/hook`,
      event_types: ['video.failed'],
    })
}

/** From the completion of a video, by the service's own clock, to the arrival of its webhook. */
function arrivalMeasure({ target, operatorToken, host }: World): Measure {
  const operator = { ...target, token: operatorToken }
  return {
    name: 'completion to the arrival of its webhook',
    async run(watch, signal) {
      watch.begun = undefined
      const { id } = await submit(target, { prompt: newPrompt() }, signal)
      for (;;) {
        const task = await ask<{ completed_at: string | null }>(operator, `/operator/v1/tasks/${id}`, { signal })
        if (task.completed_at) watch.begun = Date.parse(task.completed_at)
        const arrival = host.arrivals.get(id)
        if (arrival !== undefined && watch.begun !== undefined) return arrival
        await pause(100, undefined, { signal })
      }
    },
  }
}
