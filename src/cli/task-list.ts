import { ListTasksQuery, OperatorTaskList, OperatorTaskSummary } from '../wire/operator.ts'
import { pick, type Read } from '../wire/schema.ts'
import { limitOf } from './arguments.ts'
import type { Filmgate } from './client.ts'
import { UsageFailure } from './failure.ts'
import { pagesOf } from './pages.ts'
import { type Column, roomOf, table } from './screen/table.ts'
import { painter } from './screen/text.ts'
import { relative } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import { timeBefore } from './times.ts'

/** The conditions of `filmgate task list`. The query has the same names, except for token, times and error. */
export const searchOptions = {
  status: { type: 'string' },
  state: { type: 'string' },
  model: { type: 'string' },
  account: { type: 'string' },
  owner: { type: 'string' },
  'token-id': { type: 'string' },
  error: { type: 'string' },
  text: { type: 'string' },
  since: { type: 'string' },
  before: { type: 'string' },
  deleted: { type: 'boolean' },
} as const

type SearchValues = { [Name in Exclude<keyof typeof searchOptions, 'deleted'>]?: string } & {
  deleted?: boolean
  limit?: string
}

/** The fields that are shown. Servers of other versions may lack the rest. */
const ShownPage = {
  ...pick(OperatorTaskList, ['has_more', 'last_id']),
  properties: {
    ...pick(OperatorTaskList, ['has_more', 'last_id']).properties,
    data: {
      type: 'array',
      items: pick(OperatorTaskSummary, [
        'id',
        'owner',
        'model',
        'prompt',
        'state',
        'progress',
        'error',
        'created_at',
        'account',
      ]),
    },
  },
  required: ['data', 'has_more', 'last_id'],
} as const
type ShownPage = Read<typeof ShownPage>
type Row = ShownPage['data'][number]

const { status: statusRule, state: stateRule } = ListTasksQuery.properties

/** Goes through pages until it has found enough, or there are no more tasks. */
export async function findTasks(operator: Filmgate, values: SearchValues, terminal: Terminal): Promise<ShownPage> {
  const limit = limitOf(values.limit ?? '20', 999)
  const data: Row[] = []
  const pages = pagesOf(queryOf(values, terminal.now()), (query) => {
    query.set('limit', String(Math.min(100, limit - data.length)))
    return operator.get(`/tasks?${query}`, ShownPage)
  })
  let last: string | null = null
  for await (const page of pages) {
    data.push(...page.data)
    last = page.last_id
    if (data.length >= limit) return { data, has_more: page.has_more, last_id: last }
  }
  return { data, has_more: false, last_id: last }
}

function queryOf(values: SearchValues, now: number): URLSearchParams {
  const { status, state, error, since, before, deleted = false } = values
  refuseOther('status', status, statusRule.enum)
  refuseOther('state', state, stateRule.enum)
  const { model, account, owner, text, 'token-id': token } = values
  const conditions = {
    ...{ status, state, model, account, owner, token, text, error_code: error },
    created_since: since && new Date(timeBefore('since', since, now)).toISOString(),
    created_before: before && new Date(timeBefore('before', before, now)).toISOString(),
    deleted: deleted ? 'true' : undefined,
  }
  return new URLSearchParams(Object.entries(conditions).filter((pair): pair is [string, string] => Boolean(pair[1])))
}

function refuseOther(option: string, value: string | undefined, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value))
    throw new UsageFailure(`--${option} ${value}: use one of ${allowed.join(', ')}`)
}

export function showTasks({ data, has_more: more }: ShownPage, terminal: Terminal): string {
  if (data.length === 0) {
    terminal.err('No task was found.\n')
    return ''
  }
  if (more) terminal.err('There may be more: --limit shows up to 999.\n')
  const paint = painter(terminal.colour.stdout)
  const now = terminal.now()
  const columns: Column<Row>[] = [
    { title: 'ID', text: ({ id }) => id, paint: (_, text) => paint('bold', text) },
    { title: 'STATE', text: stateOf, paint: ({ state }, text) => paint(colourOf(state), text) },
    { title: 'CREATED', text: ({ created_at: at }) => relative(Date.parse(at), now) },
    { title: 'OWNER', text: ({ owner }) => owner, least: 8, below: true },
    { title: 'MODEL', text: ({ model }) => model, least: 6, extra: true, below: true },
    { title: 'ACCOUNT', text: ({ account }) => account ?? '', least: 6, extra: true, below: true },
    {
      title: 'PROMPT',
      text: ({ prompt, error }) => [error?.code, prompt].filter(Boolean).join(' · '),
      least: 10,
      below: true,
    },
  ]
  return table(data, columns, { columns: roomOf(terminal), paint })
}

function stateOf({ state, progress }: Row): string {
  return state === 'running' ? `running ${progress}%` : state
}

function colourOf(state: string) {
  const colours = { completed: 'green', failed: 'red', held: 'yellow', queued: 'dim' } as const
  return Object.hasOwn(colours, state) ? colours[state as keyof typeof colours] : 'cyan'
}
