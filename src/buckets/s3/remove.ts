import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Problem } from '../../core/problem.ts'
import { asking, refusalOf } from './client.ts'

interface Folder {
  Bucket: string
  /** Ends with a slash, so that no longer name is meant. */
  Prefix: string
}

export async function removeObjects(client: S3Client, folder: Folder): Promise<void> {
  const { Bucket } = folder
  let token: string | undefined
  do {
    const page = await asking(client.send(new ListObjectsV2Command({ ...folder, ContinuationToken: token })))
    const Objects = (page.Contents ?? []).map(({ Key }) => ({ Key }))
    if (Objects.length > 0) {
      const { Errors = [] } = await asking(
        client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } })),
      )
      const [kept] = Errors.filter(({ Code }) => Code !== 'NoSuchKey')
      if (kept) throw Problem.ofStorage(new Error(`${kept.Key} is not removed: ${kept.Code} ${kept.Message}`))
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}

/** Aborts every upload of the folder that was begun and not finished. */
export async function dropUploads(client: S3Client, folder: Folder): Promise<void> {
  const { Bucket } = folder
  let KeyMarker: string | undefined
  let UploadIdMarker: string | undefined
  do {
    const page: ListMultipartUploadsCommandOutput = await asking(
      client.send(new ListMultipartUploadsCommand({ ...folder, KeyMarker, UploadIdMarker })),
    )
    for (const { Key, UploadId } of page.Uploads ?? []) {
      await asking(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))).catch((error) => {
        if (refusalOf(error).name !== 'NoSuchUpload') throw error
      })
    }
    KeyMarker = page.IsTruncated ? page.NextKeyMarker : undefined
    UploadIdMarker = page.NextUploadIdMarker
  } while (KeyMarker !== undefined)
}
