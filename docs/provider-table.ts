import type { CardTemplate } from '../src/core/catalog.ts'
import type { PriceLine } from '../src/core/prices.ts'
import { type Member, providers } from '../src/providers/index.ts'
import { row, type Tables, writeTables } from './tables.ts'

/*
 * Writes the table of models into docs/providers.md; test/tables.test.ts compares the page with the cards.
 * Run it after a change to a card: node docs/provider-table.ts
 */

function modelTables(): string {
  const members: [string, Member][] = Object.entries(providers)
  return members
    .filter(([, { cards, needsNothing }]) => cards.length > 0 && !needsNothing)
    .map(([name, { cards, key }]) => `### ${name} (\`${key?.variable}\`)\n\n${head}\n${cards.map(rowOf).join('\n')}`)
    .join('\n\n')
}

const head = `| model | seconds | sizes | image | sound | parameters | USD | kept there |
|---|---|---|---|---|---|---|---|`

function rowOf(card: CardTemplate): string {
  const { id, seconds, size, image, parameters, facts } = card
  const { audio = '?', imageIs = null, price = null, keptMs = null } = facts ?? {}
  const cells = [
    `\`${id}\``,
    'values' in seconds ? seconds.values.join(', ') : `${seconds.min}–${seconds.max}`,
    'shapes' in size && size.shapes ? inWords(size.shapes) : size.default,
    image === 'none' ? 'none' : `${image}, ${imageIs ?? 'reference'}`,
    audio,
    Object.keys(parameters)
      .map((name) => `\`${name}\``)
      .join(' '),
    price === null ? '' : `${price.lines.map(lineText).join(', ')} (${price.on}, ${price.source})`,
    keptMs === null ? '' : keptMs < 48 * 3_600_000 ? `${keptMs / 3_600_000} h` : `${keptMs / 86_400_000} days`,
  ]
  return row(cells)
}

/** `0.084 a second at 720p without sound`. */
function lineText({ unit, price, resolution, audio }: PriceLine): string {
  const sound = audio === undefined ? '' : audio ? ' with sound' : ' without sound'
  return `${price} a ${unit}${resolution === undefined ? '' : ` at ${resolution}`}${sound}`
}

/** `720p 16:9 9:16, 1080p 16:9`. */
function inWords(shapes: Readonly<Record<string, { resolution: string; ratio: string }>>): string {
  const ratios = new Map<string, string[]>()
  for (const { resolution, ratio } of Object.values(shapes))
    ratios.set(resolution, [...(ratios.get(resolution) ?? []), ratio])
  return [...ratios].map(([resolution, all]) => `${resolution} ${all.join(' ')}`).join(', ')
}

export const tables: Tables = { models: modelTables }

if (import.meta.main) await writeTables('providers.md', tables)
