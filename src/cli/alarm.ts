import { alarmStatuses } from '../core/alarms.ts'
import { OperatorAlarm, OperatorAlarmList } from '../wire/alarms.ts'
import { pick, type Read } from '../wire/schema.ts'
import type { Values } from './arguments.ts'
import { type Filmgate, operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { Failure, UsageFailure } from './failure.ts'
import { endingIn } from './find-task.ts'
import { lookOf, table } from './screen/table.ts'
import { fit, type Paint, printable, wrap } from './screen/text.ts'
import { relative } from './screen/wording.ts'
import { leastOfId } from './slug.ts'
import type { Terminal } from './terminal.ts'
import { operatorCommand, type Verb } from './verbs.ts'

const help = `Usage: filmgate alarm list            what an operator has to know
       filmgate alarm acknowledge ID  show others that you have seen it

For operators, with an operator's token. An alarm clears by itself when its
cause is gone. docs/runbook.md describes the steps for each kind. Alarms about
the database itself are shown by \`filmgate status\`.
ID is the whole id, or 4 or more characters of its end.

Examples:
  filmgate alarm list
  filmgate alarm list --status all --limit 100
  filmgate alarm acknowledge 7f3a9c
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
    async run({ operator, operands: [given = ''] }) {
      const id = await findAlarm(operator, given)
      const response = await operator.post(`/alarms/${encodeURIComponent(id)}/acknowledge`, Acknowledged)
      const { kind, subject, acknowledged_by: by } = response
      return { response, show: () => printable(`${kind} of ${subject} is acknowledged by ${by ?? ''}`).concat('\n') }
    },
  },
}

/** The whole id of a whole id, or of the end of one. */
async function findAlarm(operator: Filmgate, given: string): Promise<string> {
  if (given.startsWith('alarm_')) return given
  if (given.length < leastOfId) {
    const enough = `give ${leastOfId} or more characters of the end of an id`
    throw new UsageFailure(`'${given}' is too short: ${enough}`, 'The ids of alarms:\n  filmgate alarm list')
  }
  for (const status of ['active', 'cleared']) {
    const matches = endingIn(given, await idsOf(operator, status))
    if (matches.length > 1) throw new Failure(`'${given}' is the end of several ids: ${matches.join(', ')}`)
    if (matches[0] !== undefined) return matches[0]
  }
  return given
}

const mostPages = 10

async function idsOf(operator: Filmgate, status: string): Promise<string[]> {
  const ids: string[] = []
  for (let page = 0; page < mostPages; page += 1) {
    const after = ids.at(-1)
    const place = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
    const { data, has_more: more } = await operator.get(`/alarms?status=${status}&limit=100${place}`, Page)
    ids.push(...data.map(({ id }) => id))
    if (!more || data.length === 0) break
  }
  return ids
}

export const command = operatorCommand<Given>('alarm', { help, options, verbs })

function showList({ data, has_more: more }: Read<typeof Page>, terminal: Terminal): string {
  if (data.length === 0) {
    terminal.err('There is no alarm.\n')
    return ''
  }
  if (more) terminal.err('There are more: --limit shows up to 100.\n')
  const look = lookOf(terminal)
  const { paint, columns } = look
  const now = terminal.now()
  if (columns !== null) return data.map((alarm) => alarmLines(alarm, { now, paint, columns, hasId: true })).join('')
  return table(
    data,
    [
      { title: 'SEVERITY', text: ({ severity }) => severity },
      { title: 'ALARM', text: ({ kind }) => kind },
      { title: 'SUBJECT', text: ({ subject }) => subject },
      { title: 'RAISED', text: ({ raised_at: at }) => relative(Date.parse(at), now) },
      { title: 'CLEARED', text: ({ cleared_at: at }) => (at === null ? '' : relative(Date.parse(at), now)) },
      { title: 'SEEN BY', text: ({ acknowledged_by: by }) => by ?? '' },
      { title: 'ID', text: ({ id }) => id },
      { title: 'FIRST AID', text: ({ first_aid: aid }) => aid },
    ],
    look,
  )
}

interface AlarmLook {
  now: number
  paint: Paint
  columns: number
  hasId?: true
}

/** For a screen: an alarm in one line, and its first aid and its id below it, broken to the width of the screen. */
export function alarmLines(alarm: Read<typeof OperatorAlarm>, { now, paint, columns, hasId }: AlarmLook): string {
  const { id, kind, severity, acknowledged_by: by, first_aid: aid, cleared_at: cleared } = alarm
  const facts = [
    `${severity} ${kind}: ${fit(printable(alarm.subject), Math.max(10, columns - 30))}`,
    relative(Date.parse(alarm.raised_at), now),
    ...(cleared === null ? [] : [`cleared ${relative(Date.parse(cleared), now)}`]),
    ...(by === null ? [] : [`seen by ${printable(by)}`]),
  ]
  const heading = wrap(facts.join(', '), columns).map((line) => paintSeverity(severity, line, paint))
  const below = [
    ...wrap(printable(aid), columns - 2),
    ...(hasId ? [paint('dim', fit(printable(id), columns - 2))] : []),
  ]
  return [...heading, ...below.map((line) => `  ${line}`)].map((line) => `${line}\n`).join('')
}

function paintSeverity(severity: string, text: string, paint: Paint): string {
  return paint(severity === 'critical' ? 'red' : 'yellow', text)
}
