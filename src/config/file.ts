import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import type { Mistakes } from './mistakes.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The settings in filmgate.yaml. Without a name, one in the working folder is used if it is there. */
export function readYaml(
  { where, text }: { where: string; text: string | undefined },
  env: Environment,
  mistakes: Mistakes,
): { path: string; yaml: Record<string, unknown> } {
  const path = text ?? 'filmgate.yaml'
  let content = ''
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    const absent = text === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!absent) mistakes.add(where, `${path} can't be read (${(error as Error).message})`, 'name a readable YAML file')
  }
  const document = parseDocument(content)
  for (const error of document.errors) mistakes.add(path, error.message.split('\n')[0] ?? '', 'mend the YAML there')
  const value: unknown = document.errors.length > 0 ? {} : (document.toJS() ?? {})
  if (typeof value !== 'object' || Array.isArray(value)) {
    mistakes.add(path, 'it is not a map', "write settings such as 'aliases:' at its top level")
    return { path, yaml: {} }
  }
  return { path, yaml: interpolate(value as object, path, env, mistakes) }
}

/** `${NAME}` in any text of the file stands for that environment variable, so that secrets can stay out of it. */
function interpolate(value: object, path: string, env: Environment, mistakes: Mistakes): Record<string, unknown> {
  const replace = (text: string) =>
    text.replace(/\$\{(\w+)\}/g, (written, name: string) => {
      if (env[name] === undefined) {
        mistakes.add(
          path,
          `the environment variable ${name} is not set`,
          `set it, or write the value instead of ${written}`,
        )
      }
      return env[name] ?? written
    })
  return JSON.parse(JSON.stringify(value), (_key, inner: unknown) =>
    typeof inner === 'string' ? replace(inner) : inner,
  )
}
