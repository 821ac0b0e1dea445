import { always, flag, listOf, orNull, type Schema, shape, text } from './schema.ts'

/** One page of a list. */
export function page<const S extends Schema>(description: string, items: S) {
  return shape(description, {
    object: always('list'),
    data: listOf('The items of this page.', items),
    first_id: orNull(text('The id of the first item; null on an empty page.')),
    last_id: orNull(text('The id of the last item, for `after`; null on an empty page.')),
    has_more: flag('Whether there is another page.'),
  })
}

/** The parameters of such a list. */
export const pageQuery = {
  after: { type: 'string', maxLength: 200, description: 'The page begins after the item with this id.' },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The size of the page.' },
} as const
