#!/usr/bin/env node
// Plain JavaScript that Node 20 can run: an older Node hands over to the Node 24 that is installed with Filmgate.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

if (Number(process.versions.node.split('.')[0]) < 24) handOver(findNode())
else {
  // Keeps what stripping types and compiling gave, for the threads too: from the second start on that saves half a second
  // and 40 MB. Not in the shared temporary folder, where another user could leave code for us.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/filmgate', import.meta.url))
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  // A checkout runs its sources. A published package has no sources: Node strips no types below node_modules.
  const sources = new URL('../src/cli/index.ts', import.meta.url)
  const { runCli } = await import(existsSync(sources) ? sources.href : '../dist/src/cli/index.js')
  process.exit(await runCli(process.argv.slice(2)))
}

/** The Node of the package `node-linux-…`; npm installs it only on that system. */
function findNode() {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return null
  }
}

function handOver(node) {
  if (node === null) return refuse('')
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  // A terminal and some supervisors signal both processes; the service takes two in a row for one.
  const forward = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, forward)
  child.once('error', ({ message }) => refuse(` The one that was installed does not start: ${message}.`))
  child.once('exit', (code, signal) => {
    for (const name of signals) process.off(name, forward)
    if (signal === null) process.exit(code)
    // The first process of a container can't end by a signal of its own.
    process.exitCode = 128 + constants.signals[signal]
    process.kill(process.pid, signal)
  })
}

function refuse(reason) {
  process.stderr.write(
    `filmgate: Node 24 or newer is needed, this is ${process.version}.${reason} Install it from https://nodejs.org. On Linux with glibc npm installs it with Filmgate, unless optional packages are left out.\n`,
  )
  process.exit(1)
}
