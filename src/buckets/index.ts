export { openDisk } from './disk.ts'
