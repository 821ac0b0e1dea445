export { probe, splitKey } from './bucket.ts'
export { openDisk } from './disk.ts'
export { explainS3, openS3 } from './s3.ts'
