/** The fields of a form whose value is not the one from before: what is not sent is not undone for somebody else. */
export function changedIn<Fields extends object>(before: object, after: Fields): Partial<Fields> {
  const old = new Map<string, unknown>(Object.entries(before))
  const isSame = ([name, value]: [string, unknown]) => JSON.stringify(old.get(name)) === JSON.stringify(value)
  return Object.fromEntries(Object.entries(after).filter((field) => !isSame(field))) as Partial<Fields>
}
