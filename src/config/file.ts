import { readFileSync } from 'node:fs'
import { type Document, parseDocument } from 'yaml'
import { type Mistakes, placeIn } from './mistakes.ts'

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
  // Sets, dates and the like have no meaning here: with their tags unknown, they are told.
  const value = contentOf(parseDocument(content, { resolveKnownTags: false }), path, mistakes) ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    mistakes.add(path, 'it is not a map', "write settings such as 'aliases:' at its top level")
    return { path, yaml: {} }
  }
  const reader = new Reader(path, env, mistakes)
  const yaml = reader.read(value, '') as Record<string, unknown>
  return { path, yaml: reader.isEndless ? {} : yaml }
}

function contentOf(document: Document.Parsed, path: string, mistakes: Mistakes): unknown {
  const faults = [...document.errors, ...document.warnings]
  for (const { message } of faults)
    mistakes.add(path, (message.split('\n')[0] ?? '').replace(/:$/, ''), 'mend the YAML there')
  if (faults.length > 0) return undefined
  try {
    return document.toJS()
  } catch (error) {
    // An alias of nothing, or aliases of aliases that would fill the memory.
    mistakes.add(path, (error as Error).message, 'write out what its aliases stand for')
    return undefined
  }
}

/** `${NAME}` in any text of the file stands for that environment variable, so that secrets can stay out of it. */
class Reader {
  isEndless = false
  readonly #path: string
  readonly #env: Environment
  readonly #mistakes: Mistakes
  readonly #around: object[] = []

  constructor(path: string, env: Environment, mistakes: Mistakes) {
    this.#path = path
    this.#env = env
    this.#mistakes = mistakes
  }

  read(value: unknown, where: string): unknown {
    if (typeof value === 'string') return this.#fill(value, where)
    if (typeof value !== 'object' || value === null) return value
    if (this.#around.includes(value)) {
      this.isEndless = true
      this.#mistakes.add(this.#path, `${where} contains itself`, 'write out what its alias stands for')
      return null
    }
    this.#around.push(value)
    const read = Array.isArray(value)
      ? value.map((inner, at) => this.read(inner, `${where}[${at}]`))
      : Object.fromEntries(
          Object.entries(value).map(([name, inner]) => [name, this.read(inner, placeIn(where, name))] as const),
        )
    this.#around.pop()
    return read
  }

  #fill(text: string, where: string): string {
    const filled = text.replace(/\$\{(\w+)\}/g, (written, name: string) => {
      const value = this.#env[name]
      if (value !== undefined) return value
      const what = `the environment variable ${name} is not set`
      this.#mistakes.add(this.#path, what, `set it, or write the value instead of ${written}`)
      return written
    })
    if (filled !== text) this.#mistakes.hide(where, text)
    return filled
  }
}
