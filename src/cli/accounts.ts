import { OperatorAccount, OperatorAccountList } from '../wire/operator.ts'
import { pick, type Read } from '../wire/schema.ts'
import { readArguments, suggestion } from './arguments.ts'
import { openOperator, operatorHelp } from './client/filmgate.ts'
import type { Command } from './command.ts'
import { connectionOptions } from './connection.ts'
import { UsageFailure } from './failure.ts'
import { table } from './screen/table.ts'
import { jsonLine, type Paint, painter, printable } from './screen/text.ts'
import { ahead, count } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate accounts              every provider account, and how it does
       filmgate accounts resume NAME  end its pause

For operators, with the operator's token. An account that refuses our key, asks
us to slow down, or fails several times in a row is paused: it gets nothing new
for a while, and no task fails for it. Whoever mended the cause need not wait.

Examples:
  filmgate accounts
  filmgate accounts resume kling-main
  filmgate accounts --json | jq '.data[] | select(.health.state != "ok")'

Options:
  --json              the server's own answer

${operatorHelp}`

const reasons: Record<string, string> = {
  credentials: 'it refuses our key, or the credit is gone',
  busy: 'it asked us to slow down',
  failing: 'it can not be reached, or answers nonsense',
}

/** It can't be seen from here which role has answered. */
const noAccount = `No account is configured in the process that answered.
One with the role api needs none: there the accounts are the workers'.
`

const Resumed = pick(OperatorAccount, ['name', 'was_paused'])

export const command: Command = {
  help,
  async run(args, terminal) {
    const resuming = args[0] === 'resume'
    if (!resuming && args[0] && !args[0].startsWith('-')) {
      const advice = suggestion(args[0], ['resume']) || '; the only word here is resume'
      throw new UsageFailure(`there is no 'accounts ${args[0]}'${advice}`)
    }
    const operands = resuming ? ['the name'] : []
    const read = readArguments(resuming ? args.slice(1) : args, { options: connectionOptions, operands })
    const operator = openOperator(read.values, terminal)
    const [name = ''] = read.operands
    const answer = resuming
      ? await operator.post(`/accounts/${encodeURIComponent(name)}/resume`, Resumed)
      : await operator.get('/accounts', OperatorAccountList)
    if (read.values.json) terminal.out(jsonLine(answer))
    else terminal.out('missing' in answer ? show(answer, terminal) : showResumed(answer))
    return 0
  },
}

function showResumed({ name, was_paused: paused }: Read<typeof Resumed>): string {
  return paused ? `resumed ${printable(name)}\n` : `${printable(name)} was not paused\n`
}

function show({ data: accounts, missing, elsewhere }: Read<typeof OperatorAccountList>, terminal: Terminal): string {
  for (const name of missing)
    terminal.err(`Tasks wait for the account '${printable(name)}', which is not configured.\n`)
  if (elsewhere.length > 0)
    terminal.err(
      `Other processes work on accounts of their own, which can't be resumed here: ${printable(elsewhere.join(', '))}.\n`,
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
        text: ({ health }) => health.state,
        paint: ({ health }, text) => paintHealth(health.state, text, paint),
      },
      { title: 'PROVIDER', text: ({ provider }) => provider },
      { title: 'SLOTS', text: ({ concurrency }) => String(concurrency), align: 'right', extra: true },
      { title: 'ON UNKNOWN', text: ({ on_unknown: policy }) => policy, extra: true },
      { title: 'RECOVERY', text: ({ recovery }) => recovery, extra: true },
      { title: 'WHY', text: (account) => whyOf(account, terminal.now()), least: 16, extra: true },
    ],
    { columns: terminal.stdoutIsTerminal ? terminal.size().columns : null, paint },
  )
}

function whyOf({ health }: Read<typeof OperatorAccount>, now: number): string {
  const { reason, paused_until: until, failures } = health
  if (reason === null) return failures > 0 ? `${count(failures, 'failure')} in a row` : ''
  const when =
    until === null ? 'the next task shows whether it works again' : `next try ${ahead(Date.parse(until), now)}`
  return `${reasons[reason] ?? reason}; ${when}`
}

function paintHealth(state: string, text: string, paint: Paint): string {
  return paint(state === 'ok' ? 'green' : state === 'paused' ? 'red' : 'yellow', text)
}
