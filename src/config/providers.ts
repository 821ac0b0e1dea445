import { providers as members } from '../providers/index.ts'
import type { Mistakes } from './mistakes.ts'

/** `providers: {studio: {enabled, concurrency}}`: which of the family are on, and how many tasks each runs at once. */
export function readProviders(
  given: unknown,
  cores: number,
  mistakes: Mistakes,
): Record<string, { concurrency: number }> {
  const map = mistakes.mapAt('providers', given)
  mistakes.keysOf('providers', map, Object.keys(members))
  const result: Record<string, { concurrency: number }> = {}
  for (const name of Object.keys(members)) {
    const where = `providers.${name}`
    const options = mistakes.mapAt(where, map[name])
    mistakes.keysOf(where, options, ['enabled', 'concurrency'])
    const { enabled = true, concurrency = cores } = options
    if (typeof enabled !== 'boolean')
      mistakes.add(`${where}.enabled`, 'it is neither true nor false', 'write true or false')
    if (!Number.isInteger(concurrency) || Number(concurrency) < 1 || Number(concurrency) > 1000) {
      mistakes.add(
        `${where}.concurrency`,
        'it is not a whole number from 1 to 1000',
        'say how many tasks may run at once',
      )
    }
    if (enabled) result[name] = { concurrency: Number(concurrency) }
  }
  return result
}
