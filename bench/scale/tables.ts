import type { Costs } from '../costs.ts'
import { type Assumptions, demandOf } from './demand.ts'
import type { Step, Use } from './plan.ts'

/* The rows of the tables: what was measured, and what follows from it. The first row of each is its head. */

export function measuredRows({ api, workers, claim, verify }: Costs): string[][] {
  const { task, poll, film, rows, bytes, perSecond } = workers
  const { updated = 0, inPlace = 0 } = rows.tasks ?? {}
  const inserted = ['attempts', 'events', 'slots'].map((name) => `${(rows[name]?.inserted ?? 0).toFixed(1)} ${name}`)
  const rates = Object.entries(perSecond).map(([count, rate]) => `${count}: ${size(rate)}`)
  return [
    ['what', 'measured'],
    ['submit', `API ${ms(api.submit.api)}, database ${ms(api.submit.database)}`],
    ['poll of a client', `API ${ms(api.poll.api)}, database ${ms(api.poll.database)}`],
    [
      'task from `queued` to `completed`',
      `worker ${ms(task.worker)}, database ${ms(task.database)}, ${kb(task.walBytes)} of log, with ${size(task.polls)} polls`,
    ],
    [
      'one more poll of its provider',
      `worker ${ms(poll.worker)}, database ${ms(poll.database)}, ${kb(poll.walBytes)} of log`,
    ],
    ['task with a real video', `worker ${ms(film.worker)}, for ${(film.bytes / 1e6).toFixed(1)} MB`],
    [
      'row versions',
      `${size(updated)} updates of the task (${size(inPlace)} in place); inserts: ${inserted.join(', ')}`,
    ],
    ['rows that stay, packed', `${kb(bytes)} with all indexes`],
    ['decoding a second of 1280x720', ms(verify)],
    [
      'claim',
      `${claim.emptyMs.toFixed(1)} ms if all tasks are already claimed, ${claim.baseMs.toFixed(1)} ms if tasks wait in ${claim.queues} queues; ${more(claim.taskMs * 64)} more for 64 tasks; ${more(claim.slotMs * 10_000)} more for 10 000 running tasks`,
    ],
    ['tasks a second, by workers, all on this machine', rates.join('; ')],
  ]
}

/** Zero means that the difference was smaller than the noise of the machine. */
const more = (costMs: number) => (costMs === 0 ? 'too little to measure' : `${costMs.toFixed(1)} ms`)

export function assumptionRows(given: Assumptions): string[][] {
  const { connections, databaseCores, walBytesPerSecond } = given
  return [
    ['what', 'assumed'],
    ['peak', `${given.peak} times the mean of the day`],
    ['video', `${given.videoSeconds} s of 1280x720, ${given.videoBytes / 1e6} MB`],
    [
      'provider',
      `generates it in ${given.jobMs / 1000} s, responds in ${given.answerMs} ms, is polled every ${given.cadenceMs / 1000} s; ${given.accounts} accounts`,
    ],
    ['client', `polls every ${given.clientPollMs / 1000} s`],
    [
      'largest database',
      `${databaseCores} cores, ${walBytesPerSecond / 1e6} MB/s of log, ${connections.direct} connections, or ${connections.pooled} to a pooler`,
    ],
    ['highest use', `${percent(given.target)} of each resource`],
    [
      'a worker between two claims',
      `${given.thinkMs} ms; ${given.tripMs} ms there and back to the database, and ${given.turnMs} ms × use ÷ (1 − use) of its own CPU`,
    ],
  ]
}

export function taskRows(costs: Costs, given: Assumptions): string[][] {
  const one = demandOf(costs, given)
  return [
    ['one task', ''],
    ['CPU of the API', `${ms(one.api)}: a submit and ${one.clientPolls} polls of its client`],
    ['CPU of the worker', `${ms(one.worker)}, with ${one.polls} polls of its provider`],
    ['CPU of decoding its video', ms(one.decoder)],
    ['CPU of the database', ms(one.database)],
    ['write-ahead log', kb(one.walBytes)],
    ['rows that stay', kb(one.rowBytes)],
  ]
}

export function stepRows(steps: readonly Step[], given: Assumptions): string[][] {
  const row = (title: string, read: (step: Step) => string) => [title, ...steps.map(read)]
  const gb = ({ tasksPerDay, demand }: Step, days: number) => size((tasksPerDay * days * demand.rowBytes) / 1e9)
  const each = ({ perSecond, plan }: Step) => perSecond / plan.installations
  const cores = ({ perSecond, demand }: Step) => (perSecond * (demand.worker + demand.decoder)) / given.target
  return [
    row('tasks a day', ({ tasksPerDay }) => `${tasksPerDay / 1e6} M`),
    row('a second, at the peak', ({ perSecond }) => size(perSecond)),
    row('first limit with the configuration before', ({ before }) => overOf(before, given)),
    row('first limit that more machines do not raise', ({ before }) =>
      overOf(
        before.filter(({ more }) => !more),
        given,
      ),
    ),
    row('**installations**', ({ plan }) => `${plan.installations}`),
    row('each: API processes', ({ plan }) => `${plan.api}`),
    row('each: workers', ({ plan }) => `${plan.workers}`),
    row('each: connections', ({ plan, connections }) => `${connections}${plan.pooled ? ', pooler' : ''}`),
    row('each: database cores', ({ plan }) => `${plan.databaseCores}`),
    row('each: log, MB/s', (step) => size((each(step) * step.demand.walBytes) / 1e6)),
    row('each: claims of an account, of what is possible', (step) =>
      percent(each(step) / given.accounts / step.claims.mostPerSecond),
    ),
    row('each: database cores for rounds that find nothing', ({ claims }) => size(claims.looking)),
    row('all: cores for workers', (step) => `${Math.ceil(cores(step))}`),
    row('all: video downloads, Gbit/s', ({ perSecond }) => size((perSecond * given.videoBytes * 8) / 1e9)),
    row('all: tables after 7 days', (step) => `${gb(step, 7)} GB`),
    row('all: tables after 30 days', (step) => `${gb(step, 30)} GB`),
  ]
}

export function useRows(steps: readonly Step[]): string[][] {
  const rows = [0, 1, 2].map((rank) => [`${rank + 1}.`, ...steps.map(({ uses }) => nameOf(uses[rank]))])
  return [['tasks a day', ...steps.map(({ tasksPerDay }) => `${tasksPerDay / 1e6} M`)], ...rows]
}

export function table([head = [], ...rows]: string[][]): string {
  const format = (row: readonly string[]) => `| ${row.join(' | ')} |`
  return [format(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(format)].join('\n')
}

function overOf([first]: readonly Use[], { target }: Assumptions): string {
  return first && first.share > target ? nameOf(first) : 'none'
}

function nameOf(use: Use | undefined): string {
  return use ? `${use.resource}, ${percent(use.share)}` : ''
}

const ms = (seconds: number) => `${(seconds * 1000).toFixed(seconds < 0.001 ? 2 : 1)} ms`
const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`
const percent = (share: number) => `${Math.round(share * 100)} %`
const size = (value: number) => (value >= 10 ? String(Math.round(value)) : value.toFixed(1))
