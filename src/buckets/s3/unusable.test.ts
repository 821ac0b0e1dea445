import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import { explain } from './unusable.ts'

const failure = (name: string, message: string, fields: object = {}) =>
  Object.assign(new Error(message), { name }, fields)
const answered = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } })
const unanswered = (code: string) => ({ code, $metadata: { attempts: 3 } })

it('what is wrong with a bucket comes with its fix, and whether it is worth asking again', () => {
  for (const [error, fix, lasting] of [
    [failure('NoSuchBucket', 'The specified bucket does not exist.', answered(404)), /^create the bucket/, true],
    [failure('SignatureDoesNotMatch', 'It does not match.', answered(403)), /^check AWS_ACCESS_KEY_ID/, true],
    [failure('XAdminUserNotFound', 'No user exists.', answered(404)), /^check AWS_ACCESS_KEY_ID/, true],
    [failure('CredentialsProviderError', 'Could not load credentials'), /^check AWS_ACCESS_KEY_ID/, true],
    [failure('Error', 'Region is missing'), /^add region=/, true],
    [failure('PermanentRedirect', 'Elsewhere.', answered(301)), /^check region=/, true],
    [failure('Error', 'getaddrinfo ENOTFOUND films.s3', unanswered('ENOTFOUND')), /path_style=true$/, true],
    [failure('Error', 'connect ECONNREFUSED', unanswered('ECONNREFUSED')), /that it runs$/, false],
    [failure('SlowDown', 'Slow down.', answered(503)), /that it runs$/, false],
    [failure('TooManyRequests', 'Slow down.', answered(429)), /that it runs$/, false],
  ] as const) {
    const found = explain(Problem.ofStorage(error))
    assert.match(found?.fix ?? '', fix)
    assert.equal(found?.lasting, lasting, error.name)
  }
  assert.equal(explain(failure('NoSuchBucket', 'two\nlines', answered(404)))?.why, 'NoSuchBucket: two lines')
  assert.equal(explain(Problem.ofStorage(failure('Error', 'the disk is full', { code: 'ENOSPC' }))), null)
})
