import { OperatorStatus } from '../wire/alarms.ts'
import type { Read } from '../wire/schema.ts'
import { alarmLines } from './alarm.ts'
import { type Command, readArguments } from './arguments.ts'
import { openOperator, operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { facts, lookOf, table } from './screen/table.ts'
import { type Colour, jsonLine, type Paint, painter, printable, wrap } from './screen/text.ts'
import { ahead, bytes, relative, roughly } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate status

For operators, with an operator's token. The whole service on one screen:
health, processes, tasks, queues, accounts with their slots, and active alarms
with a first aid. It also works while the database does not respond.

Examples:
  filmgate status
  filmgate status --json | jq '.alarms[] | [.severity, .kind, .subject]'

Options:
  --json              the response of the server; times are ISO 8601 in UTC

The exit code is 1 if the service is not ready, or a critical alarm is active.

${operatorHelp}`

type Status = Read<typeof OperatorStatus>
type Fact = readonly [name: string, value: string, colour?: Colour]

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options: connectionOptions })
    const status = await openOperator(values, terminal).get('/status', OperatorStatus)
    terminal.out(values.json ? jsonLine(status) : showStatus(status, terminal))
    const isWell = status.health.status === 'ok' && !status.alarms.some(({ severity }) => severity === 'critical')
    return isWell ? 0 : 1
  },
}

export function showStatus(status: Status, terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const look = lookOf(terminal)
  const columns = look.columns ?? 80
  const parts = [
    facts(factsOf(status), look),
    status.health.reason === null ? '' : lines(wrap(printable(status.health.reason), columns)),
    status.accounts.length === 0 ? '' : table(status.accounts, accountColumns(Date.parse(status.at), paint), look),
    showAlarms(status, paint, columns),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function factsOf(status: Status): Fact[] {
  const { health, tasks, queues, processes, version } = status
  const now = Date.parse(status.at)
  const isReady = health.status === 'ok'
  const others = processes.filter(({ responded }) => !responded)
  const seen = others.map(({ name, last_seen: at }) => `${name} (${relative(Date.parse(at), now)})`)
  const limit = status.bucket_limit === null ? '' : ` of ${bytes(status.bucket_limit)}`
  const stored = status.stored_bytes === null ? '' : `, ${bytes(status.stored_bytes)}${limit}`
  const waits = queues.slice(0, 3).map(({ model, age_seconds: age }) => `${model} ${roughly(age * 1_000)}`)
  return [
    ['filmgate', version],
    ['health', isReady ? 'ready' : health.status, isReady ? 'green' : 'red'],
    ['processes', [`${processes.length}`, ...seen, ...(tasks === null ? ['others unknown'] : [])].join(', ')],
    ['database', `${status.store}, ${health.store}`, health.store === 'ok' ? 'green' : 'red'],
    ['bucket', `${status.bucket}, ${health.bucket}${stored}`, health.bucket === 'ok' ? 'green' : 'red'],
    ['tasks', tasks === null ? 'unknown' : tasksOf(tasks)],
    ['oldest', tasks === null ? 'unknown' : waits.join(', ') || 'nothing is queued'],
  ]
}

function tasksOf(tasks: NonNullable<Status['tasks']>): string {
  return Object.entries(tasks)
    .map(([state, number]) => `${number} ${state}`)
    .join(', ')
}

function accountColumns(now: number, paint: Paint) {
  type Account = Status['accounts'][number]
  const stateOf = ({ mode, health }: Account) => (mode === 'active' ? health.state : mode)
  const colourOf = (state: string): Colour => (state === 'ok' ? 'green' : state === 'paused' ? 'red' : 'yellow')
  return [
    { title: 'ACCOUNT', text: ({ name }: Account) => name, least: 12, cut: 'middle' as const },
    {
      title: 'STATE',
      text: stateOf,
      paint: (account: Account, text: string) => paint(colourOf(stateOf(account)), text),
    },
    {
      title: 'SLOTS',
      text: ({ slots, used_slots: used }: Account) => `${used ?? '?'}/${slots}`,
      align: 'right' as const,
    },
    { title: 'PROVIDER', text: ({ provider }: Account) => provider, least: 8 },
    {
      title: 'WHY',
      text: ({ health: { reason, no_credit: noCredit, paused_until: until } }: Account) =>
        [noCredit ? 'no credit' : (reason ?? ''), until === null ? '' : `next try ${ahead(Date.parse(until), now)}`]
          .filter(Boolean)
          .join('; '),
      least: 10,
      extra: true as const,
    },
  ]
}

function showAlarms({ alarms, at, tasks }: Status, paint: Paint, columns: number): string {
  const unread = tasks === null ? lines(wrap("The database can't be read: other alarms may be active.", columns)) : ''
  if (alarms.length === 0) return unread || `${paint('green', 'No alarm is active.')}\n`
  return alarms.map((alarm) => alarmLines(alarm, { now: Date.parse(at), paint, columns })).join('') + unread
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}
