import { type TraceSettings, traceSamplers } from '../core/trace.ts'
import type { Mistakes } from './mistakes.ts'

type Env = Readonly<Record<string, string | undefined>>

/** All of them that are read. */
export const traceVariables = [
  ...['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_PROTOCOL'],
  ...['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'],
  ...['OTEL_RESOURCE_ATTRIBUTES', 'OTEL_SERVICE_NAME', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'],
  ...['OTEL_SDK_DISABLED', 'OTEL_TRACES_EXPORTER', 'OTEL_BSP_SCHEDULE_DELAY', 'OTEL_BSP_MAX_QUEUE_SIZE'],
]

/**
 * OpenTelemetry's own variables, in their usual meaning. Null without an endpoint, or if traces are switched off. No
 * mistake repeats a header or an address: they may contain a key.
 */
export function readTraces(env: Env, showsPrompts: boolean, mistakes: Mistakes): TraceSettings | null {
  const url = readEndpoint(env, mistakes)
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none'
  if (url === null || isOff) return null
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_SDK_DISABLED: disabled } = env
  if (exporter && exporter !== 'otlp')
    mistakes.add('OTEL_TRACES_EXPORTER', `'${exporter}' is not supported`, 'use otlp or none')
  if (disabled && disabled.toLowerCase() !== 'false')
    mistakes.add('OTEL_SDK_DISABLED', `'${disabled}' is not a switch`, 'use true or false')
  const delayMs = readCount(env, 'OTEL_BSP_SCHEDULE_DELAY', 5_000, mistakes)
  const mostWaiting = readCount(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 2_048, mistakes)
  const [protocolName, protocol] = firstOf(env, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== undefined && !protocol.startsWith('http/'))
    mistakes.add(protocolName, `'${protocol}' is not supported`, 'leave it out, and use the port for HTTP (4318)')
  const [headersName, headersText] = firstOf(env, 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS')
  const headers = readPairs(headersName, headersText, mistakes)
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) mistakes.add(headersName, 'a name is not the name of a header', pairsFix)
    if (!/^[\t\x20-\x7e]*$/.test(value))
      mistakes.add(headersName, "a value can't be the value of a header", 'use printable ASCII characters')
  }
  const resource = readPairs('OTEL_RESOURCE_ATTRIBUTES', env.OTEL_RESOURCE_ATTRIBUTES, mistakes)
  const service = env.OTEL_SERVICE_NAME || resource['service.name'] || 'filmgate'
  const described = { ...resource, 'service.name': service }
  return { url, headers, resource: described, ...readSampler(env, mistakes), showsPrompts, delayMs, mostWaiting }
}

function readCount(env: Env, name: string, usual: number, mistakes: Mistakes): number {
  const text = env[name] || String(usual)
  if (!/^[1-9]\d{0,8}$/.test(text))
    mistakes.add(name, `'${text}' is not a whole number`, 'use a number above 0, or leave it out')
  return Number(text)
}

function readEndpoint(env: Env, mistakes: Mistakes): string | null {
  const [name, text] = firstOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (text === undefined) return null
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
    const fix = 'use a URL such as http://127.0.0.1:4318, without a user name; OTEL_EXPORTER_OTLP_HEADERS is for keys'
    mistakes.add(name, "its value can't be used", fix)
    return null
  }
  if (name === 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') return url.href
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url.href
}

/** The first variable that is set. An empty one counts as absent. */
function firstOf(env: Env, one: string, other: string): [name: string, text: string | undefined] {
  return env[one] ? [one, env[one]] : [other, env[other] || undefined]
}

const pairsFix = 'use name=value, with commas between pairs, and %2C for a comma in a value'

/** `name=value,name=value`, with percent-encoded values. */
function readPairs(where: string, text: string | undefined, mistakes: Mistakes): Record<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair.trim() !== '')
  const read = pairs.map((pair): [string, string] | undefined => {
    const at = pair.indexOf('=')
    const value = decode(pair.slice(at + 1).trim())
    return at > 0 && value !== undefined ? [pair.slice(0, at).trim(), value] : undefined
  })
  const found = read.filter((pair) => pair !== undefined)
  if (found.length < read.length) mistakes.add(where, "its value can't be used", pairsFix)
  return Object.fromEntries(found)
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function readSampler(env: Env, mistakes: Mistakes): Pick<TraceSettings, 'sampler' | 'ratio' | 'isParentBased'> {
  const name = env.OTEL_TRACES_SAMPLER || 'parentbased_always_on'
  const sampler = traceSamplers.find((known) => known === name.replace(/^parentbased_/, ''))
  if (!sampler) {
    const all = traceSamplers.flatMap((known) => [known, `parentbased_${known}`])
    mistakes.add('OTEL_TRACES_SAMPLER', `'${name}' is not a sampler`, `use one of: ${all.join(', ')}`)
  }
  const text = env.OTEL_TRACES_SAMPLER_ARG || '1'
  const ratio = Number(text)
  if (sampler === 'traceidratio' && !(ratio >= 0 && ratio <= 1))
    mistakes.add('OTEL_TRACES_SAMPLER_ARG', `'${text}' is not a ratio`, 'use a number from 0 to 1, such as 0.1')
  return { sampler: sampler ?? 'always_on', ratio, isParentBased: name.startsWith('parentbased_') }
}
