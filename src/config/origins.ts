import type { SettingOrigin } from '../core/setting-origin.ts'
import type { Member } from '../providers/index.ts'
import type { KeySchema } from './file.ts'
import { type Mistakes, placeIn } from './mistakes.ts'
import { type FileSettings, fileSchema } from './schema.ts'
import { type SettingName, settings } from './settings.ts'
import { traceVariables } from './traces.ts'

interface OriginSources {
  /** What was given for a setting, and by which flag or variable. */
  raw(name: SettingName): { where: string; text: string | undefined }
  /** The settings that are never shown. */
  unshown: readonly SettingName[]
  env: Readonly<Record<string, string | undefined>>
  members: Readonly<Record<string, Member>>
  file: FileSettings
  /** Knows the path of the file, and which of its values have variables in them. */
  mistakes: Mistakes
  /** No value that contains one of these is shown. */
  secrets: readonly string[]
}

/** Every value of the configuration, and where it comes from. */
export function originsOf(sources: OriginSources): SettingOrigin[] {
  return [...ownOrigins(sources), ...variableOrigins(sources), ...fileOrigins(sources)]
}

function ownOrigins({ raw, unshown, secrets }: OriginSources): SettingOrigin[] {
  return (Object.keys(settings) as SettingName[]).map((name) => {
    const { variable, fallback, help: about } = settings[name]
    const { where: given, text: set } = raw(name)
    const source = set === undefined ? 'default' : given === variable ? 'variable' : 'flag'
    const where = set === undefined ? variable : given
    const text = set ?? (fallback === '' ? null : fallback)
    return toOrigin({ name, about, source, where, text, isSecret: unshown.includes(name) }, secrets)
  })
}

/** Variables of others that Filmgate reads: those of OpenTelemetry, and the keys of vendors. Only those that are set. */
function variableOrigins({ env, members, secrets }: OriginSources): SettingOrigin[] {
  const keys = new Set(Object.values(members).flatMap(({ key }) => (key ? [key.variable] : [])))
  const known = [
    ...[...keys].map((name) => ({ name, about: 'the key of an account' })),
    ...traceVariables.map((name) => ({ name, about: 'OpenTelemetry’s own variable, for traces' })),
  ]
  return known.flatMap(({ name, about }) => {
    const text = env[name] ?? ''
    if (text.trim() === '') return []
    // An address or a header may contain a key, too.
    return [toOrigin({ name, about, source: 'variable', where: name, text, isSecret: true }, secrets)]
  })
}

/** The keys of filmgate.yaml that hold secrets. */
const secretKeys = /\.(key|secret)$/

/** A value of a variable may be a secret, so only the name of the variable is shown, as in the file. */
function fileOrigins({ file, mistakes, secrets }: OriginSources): SettingOrigin[] {
  return leavesOf(fileSchema, file, '', mistakes).map(({ place, about, text, written }) => {
    const isSecret = secretKeys.test(place)
    const where = mistakes.file
    return { ...toOrigin({ name: place, about, source: 'file', where, text: written, isSecret }, secrets), text }
  })
}

interface Leaf {
  place: string
  about: string
  text: string
  /** As the file has it, with `${NAME}` in it. */
  written: string
}

function leavesOf(schema: KeySchema, value: unknown, place: string, mistakes: Mistakes): Leaf[] {
  const { items, properties = {}, additionalProperties } = schema
  if (Array.isArray(value) && value.some((item) => typeof item === 'object'))
    return value.flatMap((item, at) => leavesOf(items ?? schema, item, `${place}[${at}]`, mistakes))
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([name, inner]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : additionalProperties || undefined
      return leavesOf(own ?? schema, inner, placeIn(place, name), mistakes)
    })
  if (value === undefined || value === null) return []
  const { description: about = '' } = schema
  const writtenAt = (one: unknown, where: string) => mistakes.writtenAt(where) ?? String(one)
  if (!Array.isArray(value)) return [{ place, about, text: String(value), written: writtenAt(value, place) }]
  const written = value.map((one, at) => writtenAt(one, `${place}[${at}]`))
  return [{ place, about, text: value.join(', '), written: written.join(', ') }]
}

/** A value is not shown either if it contains a secret, or if it is a URL with a password or parameters. */
function toOrigin(origin: Omit<SettingOrigin, 'shown'>, secrets: readonly string[]): SettingOrigin {
  const { text, isSecret } = origin
  const hasSecret = text !== null && (secrets.some((one) => one !== '' && text.includes(one)) || isKeyed(text))
  const isHidden = isSecret || hasSecret
  return { ...origin, isSecret: isHidden, shown: isHidden ? null : text }
}

function isKeyed(text: string): boolean {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null
  return url !== null && url.username + url.password + url.search !== ''
}
