import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { type Document, parseDocument } from 'yaml'
import { readAllow } from './config/allow.ts'
import { Mistakes } from './config/mistakes.ts'
import { readModels } from './config/models.ts'
import { readProviders } from './config/providers.ts'
import { type SettingName, settings } from './config/settings.ts'
import { readTokens } from './config/tokens.ts'
import { buildCatalog, type Catalog } from './core/catalog.ts'
import type { Token } from './core/token.ts'

/** Everything the service needs to know, checked. Nothing else reads the environment or filmgate.yaml. */
export interface Config {
  host: string
  port: number
  data: string
  retentionMs: number
  catalog: Catalog
  providers: Readonly<Record<string, { concurrency: number }>>
  tokens: readonly Token[]
  /** Where an outbound request may go although the address is not a public one. */
  outboundAllow: readonly string[]
  /** All secrets above in the clear, for the log to cut out. */
  secrets: readonly string[]
}

export interface ConfigSources {
  flags: Partial<Record<SettingName, string>>
  env: Readonly<Record<string, string | undefined>>
}

/** Throws `Mistakes` with every one of them. A flag wins over its variable. */
export function loadConfig({ flags, env }: ConfigSources): Config {
  const mistakes = new Mistakes()
  const raw = (name: SettingName) => {
    const setting = settings[name]
    const [where, text] =
      flags[name] !== undefined ? [`--${name}`, flags[name]] : [setting.variable, env[setting.variable]]
    return { where, text: text === '' ? undefined : text }
  }
  const read = <Name extends SettingName>(name: Name) => {
    const { where, text } = raw(name)
    const { value, fix } = settings[name].parse(text ?? settings[name].fallback)
    if (fix) mistakes.add(where, `'${text}' can't be used`, fix)
    return value as ReturnType<(typeof settings)[Name]['parse']>['value']
  }

  const [host, port, data, retentionMs] = [read('host'), read('port'), read('data'), read('retention')]
  const file = readFile(raw('config'), mistakes)
  const yaml = interpolate(file, env, mistakes)
  mistakes.keysOf('filmgate.yaml', yaml, ['models', 'aliases', 'default_model', 'providers', 'tokens', 'outbound'])
  const providers = readProviders(yaml.providers, availableParallelism(), mistakes)
  const { cards, aliases, defaultModel } = readModels(yaml, Object.keys(providers), mistakes)
  const { tokens, secrets } = readTokens(yaml.tokens, raw('token'), mistakes)
  const outboundAllow = readAllow(yaml.outbound, mistakes)
  mistakes.throwIfAny()
  return {
    host,
    port,
    data,
    retentionMs,
    catalog: buildCatalog(cards, aliases, defaultModel),
    providers,
    tokens,
    secrets,
    outboundAllow,
  }
}

function readFile({ where, text }: { where: string; text: string | undefined }, mistakes: Mistakes): unknown {
  const path = text ?? 'filmgate.yaml'
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    // Without a setting, a filmgate.yaml in the working folder is used if there is one.
    const absent = text === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!absent) mistakes.add(where, `${path} can't be read (${(error as Error).message})`, 'name a readable YAML file')
    return {}
  }
  const document: Document = parseDocument(content)
  for (const error of document.errors) mistakes.add(path, error.message.split('\n')[0] ?? '', 'mend the YAML there')
  return document.errors.length > 0 ? {} : (document.toJS() ?? {})
}

/** `${NAME}` in any text of the file stands for that environment variable, so that secrets can stay out of it. */
function interpolate(file: unknown, env: ConfigSources['env'], mistakes: Mistakes): Record<string, unknown> {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    mistakes.add('filmgate.yaml', 'it is not a map', "write settings such as 'aliases:' at its top level")
    return {}
  }
  const replace = (text: string) =>
    text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
      const value = env[name]
      if (value === undefined)
        mistakes.add(
          'filmgate.yaml',
          `the environment variable ${name} is not set`,
          `set it, or write the value instead of \${${name}}`,
        )
      return value ?? ''
    })
  return JSON.parse(JSON.stringify(file), (_key, value: unknown) =>
    typeof value === 'string' ? replace(value) : value,
  )
}
