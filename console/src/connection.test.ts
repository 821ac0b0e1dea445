import assert from 'node:assert/strict'
import { it } from 'node:test'
import { QueryObserver } from '@tanstack/react-query'
import { ApiError, queries } from './api.ts'
import { findTrouble } from './connection.ts'

const failed = (status: number) =>
  new ApiError(status, { error: { message: 'It broke.', type: 'server_error', param: null, code: null } })

it('what is shown and could not be read again is trouble, until it is read or no longer shown', async (t) => {
  t.after(() => queries.clear())
  let thrown: Error | null = null
  const observer = new QueryObserver(queries, {
    queryKey: ['/operator/v1/attempts'],
    refetchInterval: false,
    queryFn: async () => {
      if (thrown) throw thrown
      return 'rows'
    },
  })
  const leave = observer.subscribe(() => {})
  await observer.refetch()
  assert.equal(findTrouble(), null)
  thrown = failed(500)
  await observer.refetch()
  assert.equal(observer.getCurrentResult().data, 'rows')
  assert.deepEqual(findTrouble(), { reason: 'It broke.' })
  thrown = null
  await observer.refetch()
  assert.equal(findTrouble(), null)
  // It was deleted: its page says so.
  thrown = failed(404)
  await observer.refetch()
  assert.equal(findTrouble(), null)
  thrown = failed(500)
  await observer.refetch()
  leave()
  assert.equal(findTrouble(), null)
})
