/** The rows of the table, in order. Every program reports every row. */
export const rows = [
  'models.list',
  'models.retrieve',
  'models.retrieve, a slash in the id',
  'models.retrieve, unknown',
  'videos.create, text',
  'videos.create, file',
  'videos.create, object',
  'videos.create, a wrong length',
  'videos.create, a wrong key',
  'videos.create, same Idempotency-Key',
  'videos.create, same key for another video',
  'create and poll',
  'poll',
  'videos.retrieve, completed',
  'videos.retrieve, failed',
  'videos.retrieve, unknown',
  'videos.downloadContent',
  'videos.downloadContent, thumbnail',
  'videos.downloadContent, spritesheet',
  'videos.remix',
  'videos.edit, by id',
  'videos.edit, by file',
  'videos.extend, by id',
  'videos.createCharacter',
  'videos.getCharacter',
  'videos.list, oldest first',
  'videos.list, newest first',
  'videos.delete',
  'webhooks.eventTypes.list',
  'webhooks.create',
  'webhooks.retrieve',
  'webhooks.update',
  'webhooks.list',
  'webhooks.unwrap',
  'webhooks.unwrap, a changed body',
  'webhooks.test',
  'webhooks.rotateSecret',
  'webhooks.delete',
]

/** The result of a row: it holds, it does not (`failure`), or the SDK has no such feature (`none`). */
export interface Verdict {
  failure?: string
  none?: string
}

export interface Column {
  title: string
  verdicts: ReadonlyMap<string, Verdict>
}

const markOf = ({ failure, none }: Verdict) => (failure !== undefined ? '✖' : none !== undefined ? 'n.a.' : '✔')

/** The table, and below it a line for each cell that is not ✔. */
export function drawTable(columns: readonly Column[]): string {
  const widest = Math.max(...rows.map((row) => row.length))
  const line = (first: string, cells: readonly string[]) =>
    [first.padEnd(widest), ...cells.map((cell, at) => cell.padEnd(Math.max(4, columns[at]?.title.length ?? 0)))]
      .join('  ')
      .trimEnd()
  const marks = (row: string) => columns.map(({ verdicts }) => markOf(verdicts.get(row) ?? {}))
  const titles = columns.map(({ title }) => title)
  return [line('', titles), ...rows.map((row) => line(row, marks(row))), '', ...columns.flatMap(reasons)].join('\n')
}

function reasons({ title, verdicts }: Column): string[] {
  const whys = new Map<string, string[]>()
  for (const row of rows) {
    const verdict = verdicts.get(row) ?? {}
    const why = verdict.failure ?? verdict.none
    if (why === undefined) continue
    const key = `${markOf(verdict)} ${title}: ${why.replaceAll(/\s+/g, ' ')}`
    whys.set(key, [...(whys.get(key) ?? []), row])
  }
  return [...whys].map(([why, of]) => `${why} (${of.length === rows.length ? 'all rows' : of.join('; ')})`)
}
