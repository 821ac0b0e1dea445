import { type ColumnValue, columns, fromRow, mapReadable, type Row, statusConditions } from '../core/row.ts'
import { firstIdAt } from '../core/task.ts'
import type { SearchFound, SearchStep, TaskSearch } from './store.ts'

/** What differs between databases. */
export interface SearchDialect {
  query(text: string, values: ColumnValue[]): Promise<readonly Row[]>
  placeholder(number: number): string
  /** After the name of the table, if the index of owners can be used. */
  byOwner: string
  contains(column: string, part: string): string
  /** With A to Z in lower case. */
  folded(column: string): string
}

/** One step of a search. It looks at a limited number of rows, so it may find none although later steps will. */
export async function searchTasks(
  search: TaskSearch,
  { after = afterAll, limit }: SearchStep,
  dialect: SearchDialect,
): Promise<SearchFound> {
  const { owner, createdSince, createdBefore, isDeleted } = search
  const usesOwner = owner !== undefined && !isDeleted
  const until = createdBefore === undefined ? afterAll : firstIdAt(createdBefore)
  const first = after < until ? after : until
  const from = `FROM tasks ${usesOwner ? dialect.byOwner : ''} WHERE`
  const range = (bind: Bind) => [
    ...(usesOwner ? [`owner = ${bind(owner)}`, 'deleted_at IS NULL'] : []),
    `id < ${bind(first)}`,
    ...(createdSince === undefined ? [] : [`id >= ${bind(firstIdAt(createdSince))}`]),
  ]
  const [end] = await run(dialect, (bind) => {
    const where = range(bind).join(' AND ')
    return `SELECT id ${from} ${where} ORDER BY id DESC LIMIT 1 OFFSET ${stepRows - 1}`
  })
  const rows = await run(dialect, (bind) => {
    const bounds = [...range(bind), ...(end ? [`id >= ${bind(String(end.id))}`] : [])]
    const where = [...bounds, ...conditionsOf(search, bind, dialect)].join(' AND ')
    return `SELECT ${columns.join(', ')} ${from} ${where} ORDER BY id DESC LIMIT ${bind(limit)}`
  })
  const last = rows.length === limit ? rows.at(-1) : end
  return { tasks: mapReadable(rows, fromRow), next: last ? String(last.id) : null }
}

/** How many rows one step looks at. Most conditions have no index, and a prompt may be long. */
const stepRows = 2_000

const afterAll = '\u{10ffff}'

type Bind = (value: ColumnValue) => string

function run(dialect: SearchDialect, write: (bind: Bind) => string): Promise<readonly Row[]> {
  const values: ColumnValue[] = []
  const text = write((value) => dialect.placeholder(values.push(value)))
  return dialect.query(text, values)
}

function conditionsOf(search: TaskSearch, bind: Bind, { contains, folded }: SearchDialect): string[] {
  const { status, state, model, account, owner, token, errorCode, text, isDeleted } = search
  return [
    isDeleted ? 'deleted_at IS NOT NULL' : 'deleted_at IS NULL',
    ...(owner !== undefined && isDeleted ? [`owner = ${bind(owner)}`] : []),
    ...(status ? [statusConditions[status]] : []),
    ...(state ? [`state = ${bind(state)}`] : []),
    ...(model === undefined ? [] : [`(model = ${bind(model)} OR card = ${bind(model)})`]),
    ...(account === undefined ? [] : [`account = ${bind(account)}`]),
    ...(token === undefined ? [] : [`token = ${bind(token)}`]),
    // Within the text of another field its quotes would be escaped.
    ...(errorCode === undefined ? [] : [contains('error', bind(`"code":${JSON.stringify(errorCode)}`))]),
    ...(text === undefined ? [] : [contains(folded('prompt'), bind(foldText(text)))]),
  ]
}

const foldText = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
