import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openMedia } from '../src/media/pool.ts'
import type { ClaimCosts } from './claims.ts'
import { cpuSeconds } from './cpu.ts'
import type { Line } from './measure.ts'
import { pollRequests } from './polls.ts'
import { load, startServer } from './processes.ts'
import { submitRequests } from './submits.ts'
import type { WorkerCosts } from './workers.ts'

/** What `bench/scale.ts` calculates with. The bench on PostgreSQL measures it and writes it to `bench/costs.json`. */
export interface Costs {
  machine: string
  api: ApiCosts
  workers: WorkerCosts
  claim: ClaimCosts
  /** CPU seconds of decoding one second of video of 1280x720. */
  verify: number
}

/** CPU seconds of one request. */
interface ApiCosts {
  submit: { api: number; database: number }
  poll: { api: number; database: number }
}

interface ApiBench {
  url: string
  folder: string
  seconds: number
  /** The tasks that are polled. */
  ids: readonly string[]
  postmaster: number
}

export async function benchApiCosts({ url, folder, seconds, ids, postmaster }: ApiBench) {
  await using app = await startServer({ kind: 'app', folder, store: 'postgres', url })
  const measure = async (requests: readonly string[]) => {
    const options = { port: app.port, connections: 64, requests }
    await load({ ...options, seconds: 0.5 })
    const before = { api: cpuSeconds(app.pid), database: cpuSeconds(postmaster) }
    const { perSecond } = await load({ ...options, seconds: 2 * seconds })
    const count = perSecond * 2 * seconds
    return {
      api: (cpuSeconds(app.pid) - before.api) / count,
      database: (cpuSeconds(postmaster) - before.database) / count,
    }
  }
  const costs: ApiCosts = { submit: await measure(submitRequests), poll: await measure(pollRequests(ids, 20_000)) }
  const lines = (['submit', 'poll'] as const).map((kind): Line => {
    const { api, database } = costs[kind]
    const value = api * 1000
    const detail = `in the API, and ${(database * 1000).toFixed(2)} ms in the database; 64 connections`
    return { name: `CPU of a ${kind}`, value, unit: ' ms', spread: [value, value], detail }
  })
  return { lines, costs }
}

const video = { seconds: 4, size: { width: 1280, height: 720 } }
const repetitions = 5

/** A video is decoded from the first to the last frame before its task completes: that is most of the CPU of a task. */
export async function benchVerify(folder: string): Promise<{ line: Line; verify: number; film: string }> {
  const clock = { now: () => Date.now(), sleep: () => new Promise<void>(() => {}) }
  await using media = openMedia({ clock, renderers: 1 })
  const { signal } = new AbortController()
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'verify.mp4')
  await media.render({ path, prompt: 'a red fox in snow at dusk', ...video, image: null }, () => {}, signal)
  await media.verify(path, 'bench', signal)
  const used = () => media.children().reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
  const before = used()
  for (let round = 0; round < repetitions; round += 1) await media.verify(path, 'bench', signal)
  const verify = (used() - before) / repetitions / video.seconds
  const value = verify * video.seconds * 1000
  const line = {
    name: 'CPU of decoding a video',
    value,
    unit: ' ms',
    spread: [value, value] as [number, number],
    detail: 'each is decoded once, by a child of its worker: 4 s of 1280x720, drawn by studio',
  }
  return { line, verify, film: path }
}
