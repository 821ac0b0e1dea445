/** What a person types to run us. Through npm or npx we are on no PATH, so the plain name would not be found. */
export function programOf(env: Readonly<Record<string, string | undefined>>): string {
  return env.npm_command === undefined ? 'filmgate' : 'npx filmgate'
}

/**
 * Help and hints as they can be typed here. One command at most stands on a line, and nothing of a person before it: a
 * file that happens to be called so behind it stays as it is.
 */
export function asTyped(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replace(/^(.*?)(?<![\w/.-])filmgate (?=[a-z<-])/gm, `$1${programOf(env)} `)
}
