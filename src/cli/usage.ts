import { amountText } from '../core/money.ts'
import { pick, type Read } from '../wire/schema.ts'
import { OperatorUsageGroup } from '../wire/usage.ts'
import { type Command, readArguments, type Values } from './arguments.ts'
import { type Filmgate, openFilmgate, openOperator } from './client.ts'
import { connectionOptions, findConnection } from './connection.ts'
import { ServerFailure, UsageFailure } from './failure.ts'
import { type Column, roomOf, table } from './screen/table.ts'
import { jsonLine, painter, printableCsv } from './screen/text.ts'
import { roughly } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import { timeBefore } from './times.ts'

const help = `Usage: filmgate usage [options]

What ended tasks used and cost, by groups. With an operator's token: of all
projects, with the cost of the providers and the revenue. With a client's token:
of its own project, with what it pays. Days and hours are those of UTC.

Examples:
  filmgate usage
  filmgate usage --by project,day --since 7d
  filmgate usage --by token --project shop --since 2026-11-01 --csv > a.csv

Options:
  --by FIELDS         model, token, error_code, day, hour; for operators also
                      project and account; several with commas (model)
  --since TIME        30d (ago), 2026-11-15, or with a time (30d)
  --before TIME       the end of the range (now)
  --model MODEL       only tasks of this model, by its own name
  --token-id ID       only tasks that the token with this id created
  --error CODE        only tasks that failed with this code
  --project PROJECT   for operators: only tasks of this project
  --account ACCOUNT   for operators: only tasks of this account
  --csv               as CSV, for a spreadsheet
  --json              the response of the server

Connection:
  --base-url URL      else FILMGATE_BASE_URL, else http://127.0.0.1:8484/v1
  --token TOKEN       else FILMGATE_OPERATOR_TOKEN, else FILMGATE_TOKEN
`

const options = {
  ...connectionOptions,
  by: { type: 'string' },
  since: { type: 'string' },
  before: { type: 'string' },
  model: { type: 'string' },
  'token-id': { type: 'string' },
  error: { type: 'string' },
  project: { type: 'string' },
  account: { type: 'string' },
  csv: { type: 'boolean' },
} as const

type Given = Values<typeof options>

/** The fields that both reports have. Operators also get `revenue`, and each group has the fields that it is grouped by. */
const Group = pick(OperatorUsageGroup, [
  'tasks',
  'completed',
  'failed',
  'cancelled',
  'success_rate',
  'seconds',
  'cost',
  'currency',
  'p50_ms',
  'p95_ms',
])
const Report = {
  type: 'object',
  required: ['object', 'group_by', 'data'],
  properties: {
    object: { type: 'string' },
    group_by: { type: 'array', items: { type: 'string' } },
    data: { type: 'array', items: Group },
  },
} as const
type Report = Read<typeof Report>
type Group = Read<typeof Group>

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options })
    if (values.csv && values.json) throw new UsageFailure('--csv and --json are two formats; use one of them')
    const path = `/usage?${queryOf(values, terminal.now())}`
    if (values.csv) {
      terminal.out(printableCsv(await requested(values, terminal, (filmgate) => filmgate.getCsv(path))))
      return 0
    }
    const report = await requested(values, terminal, (filmgate) => filmgate.get(path, Report))
    terminal.out(values.json ? jsonLine(report) : show(report, terminal))
    return 0
  },
}

/** A token of `--token` may be of either kind: an operator's route refuses a client's token. */
async function requested<Result>(
  values: Given,
  terminal: Terminal,
  read: (filmgate: Filmgate) => Promise<Result>,
): Promise<Result> {
  if (values.token || terminal.env.FILMGATE_OPERATOR_TOKEN) {
    try {
      return await read(openOperator(values, terminal))
    } catch (error) {
      if (!values.token || !isForOthers(error)) throw error
    }
  }
  for (const name of ['project', 'account'] as const)
    if (values[name] !== undefined) throw new UsageFailure(`--${name} needs an operator's token`)
  return read(openFilmgate(findConnection(values, terminal.env)))
}

/** With a port of their own, the routes for operators do not exist where clients are served. */
function isForOthers(error: unknown): boolean {
  return error instanceof ServerFailure && (error.status === 403 || error.status === 404)
}

function queryOf(values: Given, now: number): URLSearchParams {
  const { by, since, before, model, project, account, error, csv, 'token-id': token } = values
  const iso = (name: string, text: string) => new Date(timeBefore(name, text, now)).toISOString()
  const fields = {
    ...{ group_by: by, model, token, error_code: error, project, account },
    since: since && iso('since', since),
    before: before && iso('before', before),
    format: csv ? 'csv' : undefined,
  }
  return new URLSearchParams(Object.entries(fields).filter((pair): pair is [string, string] => Boolean(pair[1])))
}

const fieldOf = (group: Group, name: string) => (group as Record<string, unknown>)[name]
const revenueOf = (group: Group) => Number(fieldOf(group, 'revenue') ?? 0)
const isOperators = ({ object }: Report) => object === 'operator.usage'

function show(report: Report, terminal: Terminal): string {
  const { group_by: by, data } = report
  if (data.length === 0) {
    terminal.err('No task ended in that time.\n')
    return ''
  }
  const paint = painter(terminal.colour.stdout)
  const money = (amount: number, { currency }: Group) =>
    currency === null ? '' : `${amountText(Math.round(amount * 1e6))} ${currency}`
  const columns: Column<Group>[] = [
    ...by.map((name) => ({
      title: name.toUpperCase(),
      text: (group: Group) => valueText(group, name),
      // The id of a token, which is also the project of one without a project, has 16 characters.
      least: 16,
      cut: 'middle' as const,
    })),
    { title: 'TASKS', text: ({ tasks }) => String(tasks), align: 'right' },
    { title: 'SUCCESS', text: ({ success_rate: rate }) => percent(rate), align: 'right', extra: true },
    { title: 'SECONDS', text: ({ seconds }) => String(seconds), align: 'right', extra: true },
    { title: 'COST', text: (group) => money(group.cost, group), align: 'right' },
    ...(isOperators(report)
      ? [{ title: 'REVENUE', text: (group: Group) => money(revenueOf(group), group), align: 'right' as const }]
      : []),
    { title: 'P50', text: ({ p50_ms: ms }) => (ms === null ? '' : roughly(ms)), align: 'right', extra: true },
    { title: 'P95', text: ({ p95_ms: ms }) => (ms === null ? '' : roughly(ms)), align: 'right', extra: true },
  ]
  const look = { columns: roomOf(terminal), paint }
  return table([...data, ...totalsOf(report)], columns, look)
}

/** The name of a token says more than its id. */
function valueText(group: Group, name: string): string {
  const value = (name === 'token' && fieldOf(group, 'token_name')) || fieldOf(group, name)
  return value === null ? '–' : String(value ?? '')
}

function percent(rate: number | null): string {
  return rate === null ? '' : `${Number((rate * 100).toFixed(1))} %`
}

/** A line for each currency, and one for what has no price. A percentile of all can't be computed from those of the groups. */
function totalsOf({ group_by: [first = ''], data }: Report): Group[] {
  if (data.length < 2) return []
  const byCurrency = [...Map.groupBy(data, ({ currency }) => currency)]
  return byCurrency.map(([currency, groups]) => {
    const which = currency === null ? 'without price' : `in ${currency}`
    const sum = (read: (group: Group) => number) => groups.reduce((all, group) => all + read(group), 0)
    const [completed, failed] = [sum((group) => group.completed), sum((group) => group.failed)]
    // In micros: fractions add up to others than those that are shown.
    const total = (read: (group: Group) => number) => sum((group) => Math.round(read(group) * 1e6)) / 1e6
    return {
      [first]: byCurrency.length === 1 ? 'total' : `total ${which}`,
      tasks: sum(({ tasks }) => tasks),
      completed,
      failed,
      cancelled: sum(({ cancelled }) => cancelled),
      success_rate: completed + failed === 0 ? null : completed / (completed + failed),
      seconds: sum(({ seconds }) => seconds),
      cost: total(({ cost }) => cost),
      revenue: total(revenueOf),
      currency,
      p50_ms: null,
      p95_ms: null,
    }
  })
}
