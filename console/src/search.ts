/** The service searches for no longer one. Names are shorter. */
const longestText = 200

/** The values with these names in the query of an address. The router reads `7` as a number, which may be a name as well. */
export function readTexts<const Name extends string>(
  search: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const found = names.flatMap((name) => {
    const value = search[name]
    const text = Number.isFinite(value) ? String(value) : value
    // No database accepts NUL.
    const isUsable = typeof text === 'string' && text !== '' && text.length <= longestText && !text.includes('\0')
    return isUsable ? [[name, text]] : []
  })
  return Object.fromEntries(found)
}

/** Whether it may be the id of a video. Other texts, such as `events` or `..`, would be other paths of the API. */
export function isVideoId(text: string): boolean {
  return /^video_\w+$/.test(text)
}

/** A value that is only ever `true`. */
export function readFlag<const Name extends string>(
  search: Readonly<Record<string, unknown>>,
  name: Name,
): Partial<Record<Name, true>> {
  return search[name] === true ? ({ [name]: true } as Record<Name, true>) : {}
}

/** The last row of the page before. The service refuses ids of something else. */
export function readAfter(search: Readonly<Record<string, unknown>>, form: RegExp): { after?: string } {
  const { after } = search
  return typeof after === 'string' && form.test(after) ? { after } : {}
}
