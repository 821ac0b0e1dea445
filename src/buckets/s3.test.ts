import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../core/problem.ts'
import { explainS3 } from './s3.ts'

const failure = (name: string, message: string, fields: object = {}) =>
  Object.assign(new Error(message), { name }, fields)
const answered = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } })
const unanswered = (code: string) => ({ code, $metadata: { attempts: 3 } })

it('each error of a bucket comes with a fix', () => {
  for (const [error, fix] of [
    [failure('NoSuchBucket', 'The specified bucket does not exist.', answered(404)), /^create the bucket/],
    [failure('SignatureDoesNotMatch', 'It does not match.', answered(403)), /^check AWS_ACCESS_KEY_ID/],
    [failure('XAdminUserNotFound', 'No user exists.', answered(404)), /^check AWS_ACCESS_KEY_ID/],
    [failure('CredentialsProviderError', 'Could not load credentials'), /^check AWS_ACCESS_KEY_ID/],
    [failure('Error', 'Region is missing'), /^add region=/],
    [failure('PermanentRedirect', 'Elsewhere.', answered(301)), /^check region=/],
    [failure('Error', 'getaddrinfo ENOTFOUND films.s3', unanswered('ENOTFOUND')), /path_style=true$/],
    [failure('Error', 'connect ECONNREFUSED', unanswered('ECONNREFUSED')), /that it runs$/],
    [failure('SlowDown', 'Slow down.', answered(503)), /that it runs$/],
    [failure('TooManyRequests', 'Slow down.', answered(429)), /that it runs$/],
  ] as const) {
    const found = explainS3(Problem.ofStorage(error))
    assert.match(found?.fix ?? '', fix)
  }
  const plain = failure(
    'Error',
    'write EPROTO 80:error:0A00010B:SSL routines:x:wrong version number:y.c:354:\n',
    unanswered('EPROTO'),
  )
  assert.deepEqual(explainS3(plain), {
    why: 'its endpoint speaks http://, not https://',
    fix: 'start the endpoint with http:// instead of https://, or enable TLS on the server',
  })
  assert.equal(explainS3(failure('NoSuchBucket', 'two\nlines', answered(404)))?.why, 'NoSuchBucket: two lines')
  assert.equal(explainS3(Problem.ofStorage(failure('Error', 'the disk is full', { code: 'ENOSPC' }))), null)
})
