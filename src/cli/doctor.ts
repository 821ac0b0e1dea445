import { examine, type Finding, type RouteFinding } from '../accounts/doctor.ts'
import { loadConfig } from '../config.ts'
import { type Command, readArguments } from './arguments.ts'
import { exits } from './failure.ts'
import { listenForInterrupts } from './interrupts.ts'
import { type Column, roomOf, table } from './screen/table.ts'
import { jsonLine, type Paint, painter } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate doctor [options]

Reads the configuration as the service does, and sends each provider account one
free request that checks its address and its key. Then it checks for each route
of each model whether the account has that model. For each problem it says how
to fix it.

Options:
  --config FILE       the path of filmgate.yaml (./filmgate.yaml, if it exists)
  --json              one JSON object on stdout instead of the table

Examples:
  filmgate doctor
  FAL_KEY=… filmgate doctor --json | jq '.data[] | [.account, .state]'
  filmgate doctor --json | jq '.routes[] | select(.state != "usable")'

Exit codes: 0 every account and route can be used, 1 at least one can't, 2 a
mistake in the configuration.
`

const options = { config: { type: 'string' }, json: { type: 'boolean' } } as const
const doctorMs = 15_000

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options })
    const flags = values.config === undefined ? {} : { config: values.config }
    const config = loadConfig({ flags, env: terminal.env })
    using interrupts = listenForInterrupts(terminal)
    const signal = AbortSignal.any([interrupts.first, AbortSignal.timeout(doctorMs)])
    const { accounts, routes } = await examine(config, { now: terminal.now, signal })
    for (const warning of [...config.warnings, ...config.warningsOfModels(config.catalog)])
      terminal.err(`filmgate: ${warning}\n`)
    const isFine = [...accounts, ...routes].every(({ state }) => state === 'usable')
    if (values.json) terminal.out(jsonLine({ object: 'list', data: accounts, routes }))
    else show(accounts, routes, terminal)
    return isFine ? exits.done : exits.error
  },
}

function show(accounts: readonly Finding[], routes: readonly RouteFinding[], terminal: Terminal): void {
  const paint = painter(terminal.colour.stdout)
  const look = { columns: roomOf(terminal), paint }
  terminal.out(table(accounts, accountColumns(paint), look))
  if (routes.length > 0) terminal.out(`\n${table(routes, routeColumns(paint), look)}`)
  for (const { account, fix } of accounts) if (fix) terminal.err(`${account}: ${fix}\n`)
  for (const { model, account, fix } of routes) if (fix) terminal.err(`${model} on ${account}: ${fix}\n`)
}

function accountColumns(paint: Paint): Column<Finding>[] {
  return [
    { title: 'ACCOUNT', text: ({ account }) => account, paint: (_, text) => paint('bold', text) },
    { title: 'PROVIDER', text: ({ provider }) => provider },
    { title: 'MODELS', text: ({ models }) => String(models), align: 'right' },
    ...seenColumns<Finding>(paint),
  ]
}

function routeColumns(paint: Paint): Column<RouteFinding>[] {
  return [
    { title: 'MODEL', text: ({ model }) => model, paint: (_, text) => paint('bold', text) },
    { title: 'ACCOUNT', text: ({ account }) => account },
    { title: 'UPSTREAM MODEL', text: ({ upstream_model: model }) => model, least: 14, cut: 'middle' },
    ...seenColumns<RouteFinding>(paint),
  ]
}

const colours = { usable: 'green', unusable: 'red', unclear: 'yellow' } as const

function seenColumns<Row extends Pick<Finding, 'state' | 'seen'>>(paint: Paint): Column<Row>[] {
  return [
    { title: 'STATE', text: ({ state }) => state, paint: ({ state }, text) => paint(colours[state], text) },
    { title: 'SEEN', text: ({ seen }) => seen, least: 20 },
  ]
}
