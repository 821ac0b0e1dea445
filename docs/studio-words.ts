import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { vocabulary } from '../src/studio/vocabulary.ts'

/*
 * Writes the table of words into docs/studio.md; a test compares the page with the vocabulary.
 * Run it after a change to the words: node docs/studio-words.ts
 */

const headings: Record<keyof typeof vocabulary, string> = {
  subject: 'Subjects',
  place: 'Places',
  hour: 'Time of day',
  weather: 'Weather',
  season: 'Seasons',
  colour: 'Colours',
  motion: 'Motion',
  pace: 'Pace',
  camera: 'Camera',
  life: 'Small life',
}

const marks = ['<!-- words -->', '<!-- /words -->'] as const

export function wordTables(): string {
  return Object.entries(vocabulary)
    .map(([family, table]) => {
      const rows = Object.entries(table).map(
        ([name, words]) => `| ${name} | ${words.split(' ').join(', ').replaceAll('_', ' ')} |`,
      )
      return [
        `### ${headings[family as keyof typeof vocabulary]}`,
        '',
        '| is shown | words |',
        '|---|---|',
        ...rows,
      ].join('\n')
    })
    .join('\n\n')
}

export function withTables(page: string): string {
  const [from, to] = [page.indexOf(marks[0]), page.indexOf(marks[1])]
  if (from < 0 || to < from) throw new Error(`the page has no ${marks.join(' … ')}`)
  return `${page.slice(0, from + marks[0].length)}\n\n${wordTables()}\n\n${page.slice(to)}`
}

if (import.meta.main) {
  const path = join(import.meta.dirname, 'studio.md')
  await writeFile(path, withTables(await readFile(path, 'utf8')))
}
