import { AuditEntryList } from '../wire/audit.ts'
import { pick, type Read } from '../wire/schema.ts'
import { type Command, limitOf, readArguments } from './arguments.ts'
import { type Filmgate, openOperator, operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { pagesOf } from './pages.ts'
import { roomOf, table } from './screen/table.ts'
import { jsonLine, painter } from './screen/text.ts'
import { relative } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate audit           the newest changes by operators
       filmgate audit --export  all of them, one JSON object in each line

For operators, with an operator's token. Every change of a token, decision about
a held task, and resumed account: who made it, when, from which address, and
what was changed, before and after. Secrets are never in it.

Examples:
  filmgate audit
  filmgate audit --export > audit.jsonl
  filmgate audit --export | jq -c 'select(.action == "token.revoke")'

Options:
  --limit N           how many, up to 100 (20)
  --export            all entries as JSON lines, the newest first
  --json              the response of the server; times are ISO 8601 in UTC

${operatorHelp}`

const options = { ...connectionOptions, limit: { type: 'string' }, export: { type: 'boolean' } } as const

const Page = pick(AuditEntryList, ['data', 'last_id', 'has_more'])
type Entries = Read<typeof Page>['data']

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options })
    const limit = limitOf(values.limit ?? '20', 100)
    const operator = openOperator(values, terminal)
    if (values.export) {
      await exportAll(operator, terminal)
      return 0
    }
    const response = await operator.get(`/audit?limit=${limit}`, Page)
    terminal.out(values.json ? jsonLine(response) : show(response.data, terminal))
    return 0
  },
}

async function exportAll(operator: Filmgate, { out }: Terminal): Promise<void> {
  const pages = pagesOf(new URLSearchParams({ limit: '100' }), (query) => operator.get(`/audit?${query}`, Page))
  for await (const { data } of pages) out(data.map((entry) => jsonLine(entry)).join(''))
}

function show(entries: Entries, terminal: Terminal): string {
  if (entries.length === 0) {
    terminal.err('No operator has changed anything.\n')
    return ''
  }
  const paint = painter(terminal.colour.stdout)
  return table(
    entries,
    [
      { title: 'WHEN', text: ({ at }) => relative(Date.parse(at), terminal.now()) },
      { title: 'WHO', text: ({ actor_name: name }) => name, least: 8 },
      { title: 'WHAT', text: ({ action }) => action, paint: (_, text) => paint('bold', text) },
      { title: 'TARGET', text: targetOf, least: 16 },
      { title: 'CHANGED', text: changesOf, least: 16, extra: true },
      { title: 'FROM', text: ({ address }) => address, extra: true },
    ],
    { columns: roomOf(terminal), paint },
  )
}

/** `anna (tok_…)`. An account is known by its name, and a task by its id. */
function targetOf({ target, before, after }: Entries[number]): string {
  const { name } = (after ?? before ?? {}) as { name?: unknown }
  return typeof name === 'string' && name !== target ? `${name} (${target})` : target
}

/** `rate 3 → 4`: the fields that differ. */
function changesOf({ before, after }: Entries[number]): string {
  if (before === null || after === null) return ''
  const [old, now] = [before, after] as Record<string, unknown>[]
  const isChanged = (name: string) =>
    name !== 'changed_at' && JSON.stringify(old?.[name]) !== JSON.stringify(now?.[name])
  return Object.keys(after)
    .filter(isChanged)
    .map((name) => `${name} ${wordOf(old?.[name])} → ${wordOf(now?.[name])}`)
    .join(', ')
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
