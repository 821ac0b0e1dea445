import { loadConfig } from '../config.ts'
import { examine, type Finding } from '../doctor.ts'
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { exits } from './failure.ts'
import { listenForInterrupts } from './interrupts.ts'
import { table } from './screen/table.ts'
import { jsonLine, painter } from './screen/text.ts'

const help = `Usage: filmgate doctor [options]

Reads the configuration as the service would, and asks each provider account one
question that costs nothing: is the address right, is the key taken? What is
wrong is said with what to do about it.

Options:
  --config FILE       a filmgate.yaml; ./filmgate.yaml if there is one
  --json              one JSON object on stdout instead of the table

Examples:
  filmgate doctor
  FAL_KEY=… filmgate doctor --json | jq '.data[] | select(.state != "usable")'

Exit codes: 0 every account can be used, 1 one can't, 2 a mistake in the
configuration: it is named.
`

const options = { config: { type: 'string' }, json: { type: 'boolean' } } as const
const patienceMs = 15_000

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options })
    const flags = values.config === undefined ? {} : { config: values.config }
    const config = loadConfig({ flags, env: terminal.env })
    using interrupts = listenForInterrupts(terminal)
    const signal = AbortSignal.any([interrupts.first, AbortSignal.timeout(patienceMs)])
    const findings = await examine(config, { now: terminal.now, signal })
    for (const warning of config.warnings) terminal.err(`filmgate: ${warning}\n`)
    if (values.json) terminal.out(jsonLine({ object: 'list', data: findings }))
    else {
      const paint = painter(terminal.colour.stdout)
      const columns = terminal.stdoutIsTerminal ? terminal.size().columns : null
      terminal.out(table(findings, columnsOf(paint), { columns, paint }))
    }
    for (const { account, fix } of values.json ? [] : findings) if (fix) terminal.err(`${account}: ${fix}\n`)
    return findings.every(({ state }) => state === 'usable') ? exits.done : exits.error
  },
}

function columnsOf(paint: ReturnType<typeof painter>) {
  const colours = { usable: 'green', unusable: 'red', unclear: 'yellow' } as const
  return [
    {
      title: 'ACCOUNT',
      text: ({ account }: Finding) => account,
      paint: (_: Finding, text: string) => paint('bold', text),
    },
    { title: 'PROVIDER', text: ({ provider }: Finding) => provider },
    { title: 'MODELS', text: ({ models }: Finding) => String(models), align: 'right' as const },
    {
      title: 'STATE',
      text: ({ state }: Finding) => state,
      paint: ({ state }: Finding, text: string) => paint(colours[state], text),
    },
    { title: 'SEEN', text: ({ seen }: Finding) => seen, least: 20 },
  ]
}
