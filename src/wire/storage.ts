import { always, count, listOf, orNull, type Static, shape, time } from './schema.ts'

export const OperatorStorage = shape('What is stored, and when it expires.', {
  object: always('operator.storage'),
  at: time('When it was summed. It may be a while ago if very many videos are stored.'),
  stored_bytes: count('How many bytes are stored.'),
  bucket_limit: orNull(count('FILMGATE_BUCKET_LIMIT; null: none.')),
  kept: shape('What has no time of expiry yet: the inputs of unfinished tasks.', {
    tasks: count('How many tasks have such bytes.'),
    bytes: count('How many bytes these are.'),
  }),
  expiries: listOf(
    'The hours in which videos expire, the next one first. Hours without one are left out.',
    shape('The videos that expire in an hour.', {
      from: time('The beginning of the hour.'),
      videos: count('How many videos expire.'),
      bytes: count('How many bytes they and their inputs have.'),
    }),
  ),
})
export type OperatorStorage = Static<typeof OperatorStorage>

/** The keys are the names in the OpenAPI document. */
export const storageResponses = { OperatorStorage }
