import { OperatorAccount, OperatorAccountList } from '../wire/accounts.ts'
import { pick, type Read } from '../wire/schema.ts'
import { type Command, readArguments, suggestion } from './arguments.ts'
import { openOperator, operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { UsageFailure } from './failure.ts'
import { roomOf, table } from './screen/table.ts'
import { jsonLine, type Paint, painter, printable } from './screen/text.ts'
import { ahead, count } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate accounts              list the accounts and their health
       filmgate accounts resume NAME  end the pause of an account

For operators, with the operator's token. An account that rejects its key, asks
for fewer requests, or fails several times in a row is paused: it gets no new
tasks for a while, and no task fails because of it. If you have fixed the cause,
\`resume\` ends the pause at once.

Examples:
  filmgate accounts
  filmgate accounts resume kling-main
  filmgate accounts --json | jq '.data[] | select(.health.state != "ok")'

Options:
  --json              the response of the server

${operatorHelp}`

const reasons: Record<string, string> = {
  // For servers that do not tell the two apart.
  credentials: 'it rejects the key, or has no credit left',
  busy: 'it asked for fewer requests',
  failing: "it can't be reached, or its responses are invalid",
}

/** The response does not say which role the process has. */
const noAccount = `No account is configured in the process that responded.
A process with the role api needs no accounts: the workers have them.
`

const Resumed = pick(OperatorAccount, ['name', 'was_paused'])

export const command: Command = {
  help,
  async run(args, terminal) {
    const resuming = args[0] === 'resume'
    if (!resuming && args[0] && !args[0].startsWith('-')) {
      const advice = suggestion(args[0], ['resume']) || '; use accounts, or accounts resume NAME'
      throw new UsageFailure(`there is no 'accounts ${args[0]}'${advice}`)
    }
    const operands = resuming ? ['the name'] : []
    const read = readArguments(resuming ? args.slice(1) : args, { options: connectionOptions, operands })
    const operator = openOperator(read.values, terminal)
    const [name = ''] = read.operands
    const response = resuming
      ? await operator.post(`/accounts/${encodeURIComponent(name)}/resume`, Resumed)
      : await operator.get('/accounts', OperatorAccountList)
    if (read.values.json) terminal.out(jsonLine(response))
    else terminal.out('missing' in response ? showAccounts(response, terminal) : showResumed(response))
    return 0
  },
}

function showResumed({ name, was_paused: paused }: Read<typeof Resumed>): string {
  return paused ? `resumed ${printable(name)}\n` : `${printable(name)} was not paused\n`
}

export function showAccounts(list: Read<typeof OperatorAccountList>, terminal: Terminal): string {
  const { data: accounts, missing, elsewhere, unused } = list
  for (const account of unused) terminal.err(`An account is not in force: ${printable(account)}.\n`)
  for (const name of missing)
    terminal.err(`Tasks wait for the account '${printable(name)}', which is not configured.\n`)
  if (elsewhere.length > 0)
    terminal.err(
      `Other processes have accounts of their own, which can't be resumed here: ${printable(elsewhere.join(', '))}.\n`,
    )
  if (accounts.length === 0) terminal.err(noAccount)
  if (accounts.length === 0) return ''
  const paint = painter(terminal.colour.stdout)
  return table(
    accounts,
    [
      { title: 'ACCOUNT', text: ({ name }) => name, paint: (_, text) => paint('bold', text) },
      {
        title: 'HEALTH',
        text: stateOf,
        paint: (account, text) => paintHealth(stateOf(account), text, paint),
      },
      { title: 'PROVIDER', text: ({ provider }) => provider },
      { title: 'SLOTS', text: ({ concurrency }) => String(concurrency), align: 'right', extra: true },
      { title: 'ON UNKNOWN', text: ({ on_unknown: policy }) => policy, extra: true },
      { title: 'RECOVERY', text: ({ recovery }) => recovery, extra: true },
      { title: 'WHY', text: (account) => whyOf(account, terminal.now()), least: 16, extra: true },
    ],
    { columns: roomOf(terminal), paint },
  )
}

/** What an operator decided comes before what was measured. */
function stateOf({ mode, health }: Read<typeof OperatorAccount>): string {
  return mode === 'active' ? health.state : mode
}

export function whyOf({ health }: Read<typeof OperatorAccount>, now: number): string {
  const { reason, paused_until: until, failures } = health
  if (reason === null) return failures > 0 ? `${count(failures, 'failure')} in a row` : ''
  const when =
    until === null ? 'the next task shows whether it works again' : `next try ${ahead(Date.parse(until), now)}`
  return `${describeReason(health)}; ${when}`
}

function describeReason({ reason, no_credit: noCredit }: Read<typeof OperatorAccount>['health']): string {
  if (reason === 'credentials' && noCredit !== undefined)
    return noCredit ? 'it has no credit left' : 'it rejects the key, or is not set up'
  return reasons[reason ?? ''] ?? reason ?? ''
}

function paintHealth(state: string, text: string, paint: Paint): string {
  return paint(state === 'ok' ? 'green' : state === 'paused' ? 'red' : 'yellow', text)
}
