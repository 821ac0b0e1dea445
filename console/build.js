// Builds the console into console/dist, for `npm start` only if it is missing. Plain JavaScript: an older Node than ours
// must reach the launcher, which says what is needed. A service without its console is better than none, so this never fails
// a start; `--again` builds in any case, and fails.
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

const again = process.argv.includes('--again')
const dist = fileURLToPath(new URL('dist', import.meta.url))
// It is the last file of a build.
const isBuilt = existsSync(`${dist}/paths.json`)
const say = (text) => process.stderr.write(`filmgate: ${text}\n`)

if (again || (!isBuilt && process.env.FILMGATE_CONSOLE !== 'off')) await build()

async function build() {
  try {
    const { build: buildWithVite } = await import('vite')
    mkdirSync(dist, { recursive: true })
    accessSync(dist, constants.W_OK)
    say('the console is being built; that takes a few seconds, once')
    await buildBeside((outDir) =>
      buildWithVite({
        configFile: fileURLToPath(new URL('vite.config.ts', import.meta.url)),
        logLevel: 'silent',
        build: { outDir },
      }),
    )
  } catch (error) {
    if (again) throw error
    say(`the service starts without its console: ${reasonOf(error)}`)
  }
}

/** A build that fails, or another one at the same time, leaves nothing that a service could send. */
async function buildBeside(write) {
  const beside = mkdtempSync(join(dist, 'building-'))
  try {
    await write(beside)
    if (again)
      for (const name of readdirSync(dist))
        if (!beside.endsWith(name)) rmSync(join(dist, name), { recursive: true, force: true })
    const files = readdirSync(beside, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(beside.length + 1))
    for (const path of paths.toSorted((a, b) => Number(a === 'paths.json') - Number(b === 'paths.json'))) {
      mkdirSync(dirname(join(dist, path)), { recursive: true })
      renameSync(join(beside, path), join(dist, path))
    }
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

function reasonOf({ code, message, syscall }) {
  if (code === 'ERR_MODULE_NOT_FOUND') return 'the packages for development, which build it, are not installed (npm ci)'
  if (syscall === 'mkdir' || syscall === 'access') return `${dist} can't be written (${code})`
  return stripVTControlCharacters(String(message)).split('\n').filter(Boolean).slice(0, 3).join(' ')
}
