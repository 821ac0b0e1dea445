import { isObject } from '../wire/schema.ts'
import { type Command, readArguments } from './arguments.ts'
import { openClient } from './client.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { type Column, roomOf, table } from './screen/table.ts'
import { jsonLine, painter } from './screen/text.ts'
import { type Model, stringOrNull } from './video.ts'

const help = `Usage: filmgate models [options]

Lists the models that the token may use. The first is the default of
\`filmgate generate\`.

Examples:
  filmgate models
  filmgate models --json | jq -r '.data[].id'

Options:
  --json              the response of the server

${connectionHelp}`

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options: connectionOptions })
    const client = openClient(findConnection(values, terminal.env), terminal)
    const { models, raw } = await client.models()
    if (values.json) terminal.out(jsonLine(raw))
    else if (models.length === 0) terminal.err('The server lists no model.\n')
    else {
      const paint = painter(terminal.colour.stdout)
      const room = roomOf(terminal)
      terminal.out(table(models, columnsFor(models), { columns: room, paint }))
    }
    return 0
  },
}

/** Leaves out the columns that the server has no values for. */
function columnsFor(models: Model[]): Column<Model>[] {
  const columns: Column<Model>[] = [
    { title: 'MODEL', text: ({ id, raw }) => (stringOrNull(raw.alias_of) ? `${id} = ${raw.alias_of}` : id) },
    { title: 'SECONDS', text: ({ raw }) => rangeOf(raw.seconds, 'min', 'max'), least: 10 },
    { title: 'SIZE', text: ({ raw }) => sizesOf(raw.size), extra: true },
    { title: 'IMAGE', text: ({ raw }) => stringOrNull(raw.image) ?? '', extra: true },
    {
      title: 'PRICE',
      text: ({ raw: { price, facts } }) => priceOf(price ?? (isObject(facts) && facts.price)),
      extra: true,
    },
    { title: 'BY', text: ({ raw }) => stringOrNull(raw.owned_by) ?? '', least: 6, extra: true },
    { title: 'ABOUT', text: ({ raw }) => stringOrNull(raw.description) ?? '', least: 16, extra: true },
  ]
  return columns.filter(({ text }) => models.some((model) => text(model) !== ''))
}

/** `1–20 (4)`, `4 8 12 (4)`: the allowed values, and the default. */
function rangeOf(rule: unknown, least: string, most: string): string {
  if (!isObject(rule)) return ''
  const [from, to] = [stringOrNull(rule[least]), stringOrNull(rule[most])]
  const range = from === null || to === null ? '' : `${from}–${to}`
  return withDefault(Array.isArray(rule.values) ? rule.values.join(' ') : range, rule)
}

function withDefault(allowed: string, rule: Record<string, unknown>): string {
  const usual = stringOrNull(rule.default)
  return usual === null ? allowed : `${allowed} (${usual})`.trimStart()
}

/** `0.084 USD/second`: the lowest of its prices. `--json` has the others. */
function priceOf(table: unknown): string {
  const lines = isObject(table) && Array.isArray(table.lines) ? table.lines.filter(isObject) : []
  const [lowest] = lines.toSorted((a, b) => Number(a.price) - Number(b.price))
  return lowest && isObject(table) ? `${lowest.price} ${table.currency}/${lowest.unit}` : ''
}

function sizesOf(rule: unknown): string {
  if (!isObject(rule)) return ''
  const [only, ...others] = Array.isArray(rule.values) ? rule.values : []
  if (only !== undefined && others.length === 0) return String(only)
  // A long list would leave no room for other columns; `--json` has it.
  if (others.length > 3) return withDefault(`${others.length + 1} sizes`, rule)
  return rangeOf(rule, 'min_side', 'max_side')
}
