import type { FastifyReply } from 'fastify'
import type { Access } from '../access.ts'
import type { Clock } from '../core/clock.ts'
import { csvLine } from '../core/csv.ts'
import { fromMicros } from '../core/money.ts'
import { Problem } from '../core/problem.ts'
import { idOf, ownerOf } from '../core/token.ts'
import type { UsageRecord } from '../core/usage.ts'
import {
  openUsageSums,
  percentilesOf,
  reportDays,
  successRateOf,
  type UsageDimension,
  type UsageFilter,
  type UsageSum,
  usageDimensions,
} from '../core/usage-groups.ts'
import type { UsageStore } from '../stores/store.ts'
import {
  clientUsageDimensions,
  type OperatorUsageGroup,
  OperatorUsageQuery,
  OperatorUsageReport,
  type UsageGroup,
  UsageQuery,
  UsageReport,
} from '../wire/usage.ts'
import { type PieceTurns, refuseDisconnected } from './pieces.ts'
import { defineRoute, type QueryRequest, type Route } from './route.ts'
import { dropStalled } from './server.ts'
import { openShare } from './share.ts'
import { readTime, refuseNul, shown } from './validation.ts'
import { iso, unixSeconds } from './wire.ts'

/* The usage, cost and revenue of ended tasks, by groups: for a client those of its own project, for operators all. */

interface UsageDependencies {
  store: Pick<UsageStore, 'usage'>
  access: Pick<Access, 'token'>
  clock: Pick<Clock, 'now'>
  turns: PieceTurns
}

const dayMs = 86_400_000
const mostGroups = 10_000

/** A step reads this many records in a few milliseconds. */
const stepRecords = 1_000

/** This many groups are written in a turn: each sorts the durations of its tasks. */
const pieceGroups = 20

const csv = {
  'text/csv': { type: 'string', description: 'A line with the names of the fields, and a line for each group.' },
} as const
const errors = ['invalid_value', 'unknown_parameter', 'storage_unavailable'] as const

export function usageRoute(dependencies: UsageDependencies): Route {
  return defineRoute({
    at: 'GET /v1/usage',
    id: 'retrieveUsage',
    summary: 'Show what your videos used',
    description:
      'The videos of your project that ended in a range of time, by groups: how many, how long they took, and what you pay for them.',
    query: { schema: UsageQuery },
    responses: { 200: { description: 'The groups.', schema: UsageReport, alternatives: csv } },
    errors: [...errors, 'rate_limit_exceeded'],
    options: { onRequest: dropStalled },
    handler: showUsage(dependencies),
  })
}

export function operatorUsageRoute(dependencies: UsageDependencies): Route {
  return defineRoute({
    at: 'GET /operator/v1/usage',
    id: 'showUsage',
    summary: 'Show usage, cost and revenue',
    description:
      'The tasks of all projects that ended in a range of time, by groups. The cost of an attempt that no task uses counts for its account, and for the token, project and model of its task.',
    query: { schema: OperatorUsageQuery },
    responses: { 200: { description: 'The groups.', schema: OperatorUsageReport, alternatives: csv } },
    errors,
    options: { onRequest: dropStalled },
    handler: showOperatorUsage(dependencies),
  })
}

const countFields = ['tasks', 'completed', 'failed', 'cancelled', 'success_rate', 'seconds']
// A new field is the last column: some read a file by the position.
const measureFields = ['currency', 'p50_ms', 'p95_ms', 'priced_seconds']

function showUsage(dependencies: UsageDependencies) {
  const share = openShare({ most: 64, mostOfOne: 4, items: 'usage reports' })
  return async ({ query, token }: QueryRequest<UsageQuery>, reply: FastifyReply) => {
    const owner = ownerOf(token)
    const wanted = readWanted(query, clientUsageDimensions, dependencies.clock.now())
    const { by, since, before } = wanted
    const place = share.take(owner)
    // A client that reads slowly keeps its report in memory.
    reply.raw.once('close', () => place[Symbol.dispose]())
    const sums = { ...wanted, owner, countsUnused: false }
    const report = {
      head: { object: 'usage', since: unixSeconds(since), before: unixSeconds(before), group_by: by },
      fields: [...by, ...countFields, 'cost', ...measureFields],
      toGroup: (sum: UsageSum): UsageGroup => ({
        ...valuesOf(sum, by),
        ...countsOf(sum),
        cost: fromMicros(sum.revenue),
        ...measuresOf(sum),
      }),
    }
    return await respond(sums, report, { ...dependencies, line: owner, reply })
  }
}

function showOperatorUsage(dependencies: UsageDependencies) {
  const { access, clock } = dependencies
  return async ({ query, token }: QueryRequest<OperatorUsageQuery>, reply: FastifyReply) => {
    const wanted = readWanted(query, usageDimensions, clock.now())
    const { by, since, before } = wanted
    const { project } = query
    const sums = { ...wanted, ...(project !== undefined && { owner: project }), countsUnused: true }
    const nameOf = (sum: UsageSum) => access.token(sum.values[by.indexOf('token')] ?? '')?.name ?? null
    const report = {
      head: { object: 'operator.usage', since: iso(since), before: iso(before), group_by: by },
      fields: [
        ...by.flatMap((name) => (name === 'token' ? ['token', 'token_name'] : name)),
        ...countFields,
        'cost',
        'revenue',
        ...measureFields,
      ],
      toGroup: (sum: UsageSum): OperatorUsageGroup => ({
        ...valuesOf(sum, by),
        ...(by.includes('token') && { token_name: nameOf(sum) }),
        ...countsOf(sum),
        cost: fromMicros(sum.cost),
        revenue: fromMicros(sum.revenue),
        ...measuresOf(sum),
      }),
    }
    return respond(sums, report, { ...dependencies, line: idOf(token), reply })
  }
}

/** What a query asks for. */
interface Wanted {
  by: readonly UsageDimension[]
  since: number
  before: number
  filter: UsageFilter
  isCsv: boolean
}

type UsageQueryText = {
  readonly [Name in 'group_by' | 'since' | 'before' | 'token' | 'model' | 'account' | 'error_code' | 'format']?:
    | string
    | undefined
}

function readWanted(query: UsageQueryText, allowed: readonly UsageDimension[], now: number): Wanted {
  refuseNul(query)
  const { group_by: groupBy = 'model', token, model, account, error_code: code, format } = query
  const by = readDimensions(groupBy, allowed)
  const filter = {
    ...(token !== undefined && { token }),
    ...(model !== undefined && { model }),
    ...(account !== undefined && { account }),
    ...(code !== undefined && { code }),
  }
  return { by, ...readRange(query, by, now), filter, isCsv: format === 'csv' }
}

function readDimensions(text: string, allowed: readonly UsageDimension[]): UsageDimension[] {
  const names = text.split(',').map((name) => name.trim())
  const isAllowed = (name: string): name is UsageDimension => allowed.some((one) => one === name)
  const wrong = names.find((name) => !isAllowed(name))
  if (wrong !== undefined) {
    const message = `\`group_by\` has ${shown(wrong)}. Allowed: ${allowed.join(', ')}; several with commas between them.`
    throw new Problem('invalid_value', message, { param: 'group_by' })
  }
  return [...new Set(names.filter(isAllowed))]
}

function readRange(query: UsageQueryText, by: readonly UsageDimension[], now: number) {
  // What ended in this millisecond counts.
  const before = readTime('before', query.before) ?? now + 1
  const since = readTime('since', query.since) ?? Math.max(0, before - reportDays.usual * dayMs)
  const refuse = (message: string) => new Problem('invalid_value', message, { param: 'since' })
  if (since >= before) throw refuse('`since` is not before `before`. Send an earlier time.')
  const days = (before - since) / dayMs
  const range = 'The range from `since` to `before`'
  if (days > reportDays.most) throw refuse(`${range} is longer than ${reportDays.most} days. Send a later \`since\`.`)
  if (by.includes('hour') && days > reportDays.mostByHour)
    throw refuse(
      `${range} is longer than ${reportDays.mostByHour} days, the most by \`hour\`. Send a later \`since\`, or group by \`day\`.`,
    )
  return { since, before }
}

/** How the sums are written: the fields before the groups, and for each group. */
interface ReportShape {
  head: object
  fields: readonly string[]
  toGroup(sum: UsageSum): object
}

interface Responding extends UsageDependencies {
  /** Whose turns these are. */
  line: string
  reply: FastifyReply
}

type Turn = () => Promise<Disposable>
type Read = <Found>(read: () => Promise<Found>) => Promise<Found>

interface SumsWanted extends Wanted {
  owner?: string
  /** Whether attempts that no task uses count. */
  countsUnused: boolean
}

async function respond(
  wanted: SumsWanted,
  report: ReportShape,
  { store, turns, line, reply }: Responding,
): Promise<string> {
  const turn: Turn = async () => {
    refuseDisconnected(reply)
    return turns.take(line)
  }
  const read: Read = async (one) => {
    refuseDisconnected(reply)
    return turns.read(line, one)
  }
  const sums = await sumUp(wanted, store, { turn, read })
  const text = await (wanted.isCsv ? toCsv : toJson)(sums, report, turn)
  reply.type(wanted.isCsv ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8')
  return text
}

/** Each step is read in one turn and added in another, so that a long range does not delay others. */
async function sumUp(
  wanted: SumsWanted,
  store: UsageDependencies['store'],
  { turn, read }: { turn: Turn; read: Read },
): Promise<UsageSum[]> {
  const { since, before, owner, by, filter, countsUnused } = wanted
  const sums = openUsageSums({ by, filter, countsUnused, most: mostGroups })
  const range = { since, before, ...(owner !== undefined && { owner }) }
  let after: UsageRecord | undefined
  for (;;) {
    const place = { ...(after && { after }), limit: stepRecords }
    const step: UsageRecord[] = await read(() => store.usage(range, place))
    using _turn = await turn()
    for (const record of step) sums.add(record)
    if (step.length < stepRecords) return sums.groups()
    after = step.at(-1)
  }
}

async function toCsv(sums: readonly UsageSum[], { fields, toGroup }: ReportShape, turn: Turn): Promise<string> {
  const lines = await mapInTurns(sums, turn, (sum) => {
    const group: Record<string, unknown> = { ...toGroup(sum) }
    return csvLine(fields.map((name) => group[name]))
  })
  return csvLine(fields) + lines.join('')
}

async function toJson(sums: readonly UsageSum[], { head, toGroup }: ReportShape, turn: Turn): Promise<string> {
  const groups = await mapInTurns(sums, turn, (sum) => JSON.stringify(toGroup(sum)))
  return `${JSON.stringify(head).slice(0, -1)},"data":[${groups.join()}]}`
}

async function mapInTurns(sums: readonly UsageSum[], turn: Turn, write: (sum: UsageSum) => string): Promise<string[]> {
  const texts: string[] = []
  for (let at = 0; at < sums.length; at += pieceGroups) {
    using _turn = await turn()
    texts.push(...sums.slice(at, at + pieceGroups).map(write))
  }
  return texts
}

function valuesOf({ values }: UsageSum, by: readonly UsageDimension[]) {
  return Object.fromEntries(by.map((name, at) => [name, values[at] ?? null])) as Partial<Record<UsageDimension, string>>
}

function countsOf(sum: UsageSum) {
  const { completed, failed, cancelled, seconds, pricedSeconds } = sum
  const tasks = completed + failed + cancelled
  return {
    tasks,
    completed,
    failed,
    cancelled,
    success_rate: successRateOf(sum),
    seconds,
    priced_seconds: pricedSeconds,
  }
}

function measuresOf(sum: UsageSum) {
  const [p50, p95] = percentilesOf(sum, [0.5, 0.95])
  return { currency: sum.currency, p50_ms: p50 ?? null, p95_ms: p95 ?? null }
}
