import { readFileSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}

/** The command that runs this program: npm and npx don't put it on the PATH. */
function programOf(env: Readonly<Record<string, string | undefined>>): string {
  return env.npm_command === undefined ? 'filmgate' : 'npx filmgate'
}

/** The command for another shell: `node bin/filmgate.js` puts nothing on the PATH. */
export function programToPaste(env: Readonly<Record<string, string | undefined>>): string {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const isProgram = (folder: string) => statSync(join(folder, 'filmgate'), { throwIfNoEntry: false })?.isFile()
  return folders.some(isProgram) ? programOf(env) : 'npx filmgate'
}

/** Help and hints with the command that works here. Only the first `filmgate` of a line: others may be file names. */
export function asTyped(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replace(/^(.*?)(?<![\w/.-])filmgate (?=[a-z<-])/gm, `$1${programOf(env)} `)
}

/** One word of a shell command. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
