import { isObject } from './video.ts'

/* Anything may listen at a base URL: what it answers is looked at before it is shown. */

export type Guard<T> = (value: unknown) => value is T

export const isText: Guard<string> = (value) => typeof value === 'string'
export const isNumber: Guard<number> = (value) => typeof value === 'number'
export const isFlag: Guard<boolean> = (value) => typeof value === 'boolean'
export const isTime: Guard<string> = (value): value is string => isText(value) && !Number.isNaN(Date.parse(value))
export const isAnything: Guard<unknown> = (_value): _value is unknown => true

export function orNull<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value)
}

export function listOf<T>(guard: Guard<T>): Guard<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.every(guard)
}

export function shape<T>(guards: { [Key in keyof T]-?: Guard<T[Key]> }): Guard<T> {
  const entries = Object.entries(guards) as [string, Guard<unknown>][]
  return (value): value is T => isObject(value) && entries.every(([key, guard]) => guard(value[key]))
}
