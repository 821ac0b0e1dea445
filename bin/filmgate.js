#!/usr/bin/env node
// Plain JavaScript, so that an older Node can say what is wrong instead of failing on the first .ts file.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    `filmgate: Node 24 or newer is needed, this is ${process.version}. On Linux \`npm ci\` brings it: run this through npm (\`npm start\`, \`npx filmgate\`). Elsewhere install Node 24.\n`,
  )
  process.exit(1)
}
const { runCli } = await import('../src/cli/index.ts')
process.exit(await runCli(process.argv.slice(2)))
