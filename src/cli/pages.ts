interface Page {
  last_id: string | null
  has_more: boolean
}

/** The pages of a list, with a request for each. `query` gets the place where the next page begins. */
export async function* pagesOf<P extends Page>(
  query: URLSearchParams,
  read: (query: URLSearchParams) => Promise<P>,
): AsyncGenerator<P> {
  for (;;) {
    const page = await read(query)
    yield page
    const { last_id: last, has_more: hasMore } = page
    // Otherwise a server that repeats a page would be requested without end.
    if (!hasMore || last === null || last === query.get('after')) return
    query.set('after', last)
  }
}
