export { probe, splitKey } from './bucket.ts'
export { openDisk } from './disk.ts'
export { explain as explainS3, type Unusable } from './s3/unusable.ts'
export { openS3 } from './s3.ts'
