#!/usr/bin/env node
// Plain JavaScript, so that an older Node can say what is wrong instead of failing on the first .ts file.
import module from 'node:module'
import { fileURLToPath } from 'node:url'

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `filmgate: Node 24 or newer is needed, this is ${process.version}. On Linux \`npm ci\` brings it: run this through npm (\`npm start\`, \`npx filmgate\`). Elsewhere install Node 24.\n`,
  )
  process.exit(1)
}
// Keeps what stripping types and compiling gave, for the threads too: from the second start on that saves half a second
// and 40 MB. Not in the shared temporary folder, where another user could leave code for us.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/filmgate', import.meta.url))
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)

const { runCli } = await import('../src/cli/index.ts')
process.exit(await runCli(process.argv.slice(2)))
