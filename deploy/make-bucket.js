// Creates the bucket that FILMGATE_BUCKET names, if it does not exist. Filmgate itself never does, so it needs no right to.
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { explainS3 } from '../src/buckets/s3.ts'
import { parseBucket } from '../src/config/places.ts'

const fixes = {
  InvalidBucketName:
    'choose another name: 3 to 63 letters a to z, digits and -, and - is neither the first nor the last',
  BucketAlreadyExists: 'choose another name: this one belongs to another account',
}

async function make({ bucket, endpoint, forcePathStyle = false, region = 'us-east-1' }) {
  const client = new S3Client({ region, forcePathStyle, ...(endpoint && { endpoint }) })
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    process.stdout.write(`created the bucket ${bucket}\n`)
  } catch (error) {
    if (error.name === 'BucketAlreadyOwnedByYou') process.stdout.write(`the bucket ${bucket} exists\n`)
    else {
      const { why, fix } = explainS3(error) ?? { why: error.message, fix: 'check FILMGATE_BUCKET' }
      fail(`the bucket ${bucket} can't be created: ${why}; ${fixes[error.name] ?? fix}`)
    }
  }
}

function fail(what) {
  process.stderr.write(`make-bucket: ${what}\n`)
  process.exitCode = 1
}

const { value, fix } = parseBucket(process.env.FILMGATE_BUCKET ?? '')
if (fix) fail(`FILMGATE_BUCKET can't be used: ${fix}`)
else if (value.kind !== 's3') fail('FILMGATE_BUCKET is not an s3:// URL; set it: s3://bucket?endpoint=https://…')
else await make(value)
