import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'

/*
 * `npm run test:services`: everything that needs a real PostgreSQL or a real S3 server. Each file starts what it needs
 * and takes it down; one after another, for they measure nothing but take much of a small machine.
 */
const root = join(import.meta.dirname, '../..')
const files = globSync('{src,test}/**/*.services.ts', { cwd: root }).sort()
const args = ['--test', '--test-concurrency=1', '--test-timeout=600000', ...files]
const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
child.once('exit', (code) => {
  process.exitCode = code ?? 1
})
