import {
  type ImageRule,
  type ModelCard,
  parseSize,
  type SecondsRule,
  type SizeRule,
  takesSize,
} from '../core/catalog.ts'
import { isLimit, type Mistakes, mostAtOnce } from './mistakes.ts'
import { readDeadlines } from './routes.ts'

export type Rules = Pick<ModelCard, 'concurrency' | 'deadlines' | 'description' | 'seconds' | 'size' | 'image'>

/** What a card says beside who makes it. */
export function readRules(where: string, given: Record<string, unknown>, base: Rules, mistakes: Mistakes): Rules {
  const { concurrency = base.concurrency } = given
  if (concurrency !== null && !isLimit(concurrency)) {
    const what = `it is not a whole number from 1 to ${mostAtOnce}`
    mistakes.add(`${where}.concurrency`, what, 'leave it out for no limit')
  }
  const image = given.image ?? base.image
  if (typeof image !== 'string' || !['none', 'optional', 'required'].includes(image)) {
    const fix = 'use none, optional or required'
    mistakes.addUnknown(`${where}.image`, image, fix, (quoted) => `${quoted} means nothing`)
  }
  const mapAt = (key: string) => mistakes.mapAt(`${where}.${key}`, given[key])
  return {
    concurrency: concurrency as number | null,
    deadlines: readDeadlines(`${where}.deadlines`, mapAt('deadlines'), base.deadlines, mistakes),
    description: readText(`${where}.description`, given.description, base.description, mistakes),
    seconds: readSeconds(`${where}.seconds`, mapAt('seconds'), base.seconds, mistakes),
    size: readSize(`${where}.size`, mapAt('size'), base.size, mistakes),
    image: image as ImageRule,
  }
}

function readText(where: string, given: unknown, fallback: string, mistakes: Mistakes): string {
  const value = given ?? fallback
  if (typeof value === 'string') return value
  mistakes.add(where, 'it is not text', 'write it in quotes')
  return fallback
}

const longestSeconds = 3_600

function isSeconds(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= longestSeconds
}

function readSeconds(
  where: string,
  given: Record<string, unknown>,
  base: SecondsRule,
  mistakes: Mistakes,
): SecondsRule {
  mistakes.keysOf(where, given, ['values', 'min', 'max', 'default'])
  if (given.values !== undefined && (given.min !== undefined || given.max !== undefined))
    mistakes.add(where, 'there are values and a range', 'write values, or min and max')
  const values =
    given.values ?? ('values' in base && given.min === undefined && given.max === undefined ? base.values : undefined)
  if (values === undefined) return readRange(where, given, base, mistakes)
  if (!Array.isArray(values) || values.length === 0 || !values.every(isSeconds)) {
    mistakes.add(`${where}.values`, 'it is not a list of whole seconds', 'write for example [4, 8, 12]')
    return base
  }
  const usual = given.default ?? (values.includes(base.default) ? base.default : values[0])
  if (!values.includes(usual as number))
    mistakes.add(`${where}.default`, 'it is not among the values', 'choose one of them')
  return { values, default: usual as number }
}

function readRange(where: string, given: Record<string, unknown>, base: SecondsRule, mistakes: Mistakes): SecondsRule {
  const { min = 'min' in base ? base.min : 1, max = 'max' in base ? base.max : longestSeconds } = given
  if (!isSeconds(min) || !isSeconds(max) || min > max) {
    mistakes.add(where, 'min and max are no range of whole seconds', 'write for example min: 1 and max: 20')
    return base
  }
  const usual = given.default ?? Math.min(Math.max(base.default, min), max)
  if (!isSeconds(usual) || usual < min || usual > max)
    mistakes.add(`${where}.default`, 'it is outside the range', `choose from ${min} to ${max}`)
  return { min, max, default: usual as number }
}

function readSize(where: string, given: Record<string, unknown>, base: SizeRule, mistakes: Mistakes): SizeRule {
  mistakes.keysOf(where, given, ['values', 'default'])
  const values = given.values ?? ('values' in base ? base.values : undefined)
  if (values === undefined) return { ...base, default: readDefaultSize(where, given.default, base, mistakes) }
  const isSize = (value: unknown): value is string => typeof value === 'string' && parseSize(value) !== undefined
  if (!Array.isArray(values) || values.length === 0 || !values.every(isSize)) {
    mistakes.add(`${where}.values`, 'it is not a list of sizes', 'write for example [1280x720, 720x1280]')
    return base
  }
  const usual = given.default ?? (values.includes(base.default) ? base.default : values[0])
  if (!values.includes(usual as string))
    mistakes.add(`${where}.default`, 'it is not among the values', 'choose one of them')
  // How the provider names the sizes that are left.
  const shapes = 'shapes' in base ? base.shapes : undefined
  const left = shapes && Object.fromEntries(Object.entries(shapes).filter(([size]) => values.includes(size)))
  return { values, default: usual as string, ...(left && { shapes: left }) }
}

function readDefaultSize(where: string, given: unknown, base: SizeRule, mistakes: Mistakes): string {
  const usual = given ?? base.default
  if (typeof usual !== 'string' || parseSize(usual) === undefined)
    mistakes.add(`${where}.default`, 'it is not a size', "write for example '1280x720'")
  else if (!takesSize(base, usual))
    mistakes.add(`${where}.default`, 'it is no size of this model', `choose one such as '${base.default}'`)
  else return usual
  return base.default
}
