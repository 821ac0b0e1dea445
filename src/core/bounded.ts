/** A map that drops its oldest key if it has too many. */
export interface Bounded<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  delete(key: string): void
}

export function openBounded<Value>(most: number): Bounded<Value> {
  const values = new Map<string, Value>()
  return {
    get: (key) => values.get(key),
    set(key, value) {
      values.set(key, value)
      const [oldest] = values.size > most ? values.keys() : []
      if (oldest !== undefined) values.delete(oldest)
    },
    delete: (key) => void values.delete(key),
  }
}
