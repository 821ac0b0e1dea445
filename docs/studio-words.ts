import { vocabulary } from '../src/studio/vocabulary.ts'
import { row, type Tables, writeTables } from './tables.ts'

/*
 * Writes the table of words into docs/studio.md; test/tables.test.ts compares the page with the vocabulary.
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

function wordTables(): string {
  return Object.entries(vocabulary)
    .map(([family, table]) => {
      const rows = Object.entries(table).map(([name, words]) =>
        row([name, words.split(' ').join(', ').replaceAll('_', ' ')]),
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

export const tables: Tables = { words: wordTables }

if (import.meta.main) await writeTables('studio.md', tables)
