export { openDisk } from './disk.ts'
export { openS3 } from './s3.ts'
