import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The text between `<!-- name -->` and `<!-- /name -->` of a page, for each name. */
export type Tables = Readonly<Record<string, () => string>>

export const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`

export function replaceTables(page: string, tables: Tables): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    const [from, to] = [text.indexOf(begin), text.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`the page has no ${begin} … ${end}`)
    return `${text.slice(0, from)}${begin}\n\n${table()}\n\n${text.slice(to)}`
  }, page)
}

export async function writeTables(page: string, tables: Tables): Promise<void> {
  const path = join(import.meta.dirname, page)
  await writeFile(path, replaceTables(await readFile(path, 'utf8'), tables))
}
