import { alarmStatuses } from '../core/alarms.ts'
import { OperatorAlarm, OperatorAlarmList } from '../wire/alarms.ts'
import { pick, type Read } from '../wire/schema.ts'
import type { Values } from './arguments.ts'
import { operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { UsageFailure } from './failure.ts'
import { lookOf, table } from './screen/table.ts'
import { type Paint, painter, printable } from './screen/text.ts'
import { relative } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import { operatorCommand, type Verb } from './verbs.ts'

const help = `Usage: filmgate alarm list            what an operator has to know
       filmgate alarm acknowledge ID  show others that you have seen it

For operators, with an operator's token. An alarm clears by itself when its
cause is gone. docs/runbook.md describes the steps for each kind. Alarms about
the database itself are shown by \`filmgate status\`.

Examples:
  filmgate alarm list
  filmgate alarm list --status all --limit 100
  filmgate alarm acknowledge alarm_0193…
  filmgate alarm list --json | jq -r '.data[] | [.kind, .subject] | @tsv'

Options:
  --status STATUS     for list: active, cleared or all (active)
  --limit N           for list: how many, up to 100 (20)
  --json              the response of the server; times are ISO 8601 in UTC

${operatorHelp}`

const options = { ...connectionOptions, status: { type: 'string' }, limit: { type: 'string' } } as const

type Given = Values<typeof options>

const Acknowledged = pick(OperatorAlarm, ['id', 'kind', 'subject', 'acknowledged_by'])
const Page = pick(OperatorAlarmList, ['data', 'has_more'])

const verbs: Record<string, Verb<Given>> = {
  list: {
    operands: [],
    accepts: ['status', 'limit'],
    async run({ operator, values, terminal }) {
      const { status = 'active', limit = '20' } = values
      if (!alarmStatuses.some((known) => known === status))
        throw new UsageFailure(`--status ${status}: use active, cleared or all`)
      if (!/^([1-9]\d?|100)$/.test(limit)) throw new UsageFailure(`--limit ${limit}: use a number from 1 to 100`)
      const response = await operator.get(`/alarms?status=${status}&limit=${limit}`, Page)
      return { response, show: () => showList(response, terminal) }
    },
  },
  acknowledge: {
    operands: ['the id of the alarm'],
    async run({ operator, operands: [id = ''] }) {
      const response = await operator.post(`/alarms/${encodeURIComponent(id)}/acknowledge`, Acknowledged)
      const { kind, subject, acknowledged_by: by } = response
      return { response, show: () => printable(`${kind} of ${subject} is acknowledged by ${by ?? ''}`).concat('\n') }
    },
  },
}

export const command = operatorCommand<Given>('alarm', { help, options, verbs })

function showList({ data, has_more: more }: Read<typeof Page>, terminal: Terminal): string {
  if (data.length === 0) {
    terminal.err('There is no alarm.\n')
    return ''
  }
  if (more) terminal.err('There are more: --limit shows up to 100.\n')
  const paint = painter(terminal.colour.stdout)
  const now = terminal.now()
  return table(
    data,
    [
      { title: 'ALARM', text: ({ kind }) => kind, paint: ({ severity }, text) => paintSeverity(severity, text, paint) },
      { title: 'SUBJECT', text: ({ subject }) => subject, least: 10, paint: (_, text) => paint('bold', text) },
      { title: 'RAISED', text: ({ raised_at: at }) => relative(Date.parse(at), now) },
      {
        title: 'CLEARED',
        text: ({ cleared_at: at }) => (at === null ? '' : relative(Date.parse(at), now)),
        extra: true,
      },
      { title: 'SEEN BY', text: ({ acknowledged_by: by }) => by ?? '', least: 8, extra: true },
      { title: 'ID', text: ({ id }) => id, least: 16, cut: 'middle', extra: true },
      { title: 'FIRST AID', text: ({ first_aid: aid }) => aid, least: 16, extra: true },
    ],
    lookOf(terminal),
  )
}

export function paintSeverity(severity: string, text: string, paint: Paint): string {
  return paint(severity === 'critical' ? 'red' : 'yellow', text)
}
