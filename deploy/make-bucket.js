// Makes the bucket that FILMGATE_BUCKET names, if it is not there. Filmgate itself never does: it need not be allowed to.
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { parseBucket } from '../src/config/places.ts'

const { value, fix } = parseBucket(process.env.FILMGATE_BUCKET ?? '')
if (fix || value.kind !== 's3') throw new Error(`FILMGATE_BUCKET: ${fix ?? 'it names no bucket'}`)
const { bucket, endpoint, forcePathStyle = false, region = 'us-east-1' } = value
const client = new S3Client({ region, forcePathStyle, ...(endpoint && { endpoint }) })
try {
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  process.stdout.write(`made the bucket ${bucket}\n`)
} catch (error) {
  if (error.name !== 'BucketAlreadyOwnedByYou') throw error
  process.stdout.write(`the bucket ${bucket} is there\n`)
}
