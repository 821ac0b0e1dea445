import { readByteSize } from '../core/byte-size.ts'
import { readDuration } from '../core/duration.ts'
import { readIpRange } from '../core/ip-range.ts'
import { isPossibleSecret, mostQueuedTasks, type UnknownParameters } from '../core/token.ts'
import { readSecretKeys, type SecretKey } from '../core/vault.ts'
import { parseBucket, parseHandover, parseRole, parseStore } from './places.ts'
import { durationPattern, mostPerMinute } from './schema.ts'

/** A parsed setting: the value, and how to fix the text if it can't be used. */
export interface Parsed<T> {
  value: T
  fix?: string
}

/** '90s', '30m', '24h' or '7d' in milliseconds. */
export function parseDuration(text: string): number | undefined {
  return new RegExp(durationPattern).test(text) ? readDuration(text) : undefined
}

function parseDurationSetting(text: string): Parsed<number> {
  const value = parseDuration(text)
  return value === undefined ? { value: 0, fix: 'use a number and a unit: 90s, 30m, 24h, 7d' } : { value }
}

function parsePort(text: string): Parsed<number> {
  const value = Number(text)
  return /^\d{1,5}$/.test(text) && value <= 65_535 ? { value } : { value, fix: 'use a number from 0 to 65535' }
}

function parseUpTo(most: number): (text: string) => Parsed<number> {
  return (text) => {
    const value = Number(text)
    return /^\d+$/.test(text) && value <= most ? { value } : { value, fix: `use a whole number up to ${most}` }
  }
}

function parseByteSize(text: string): Parsed<number> {
  const value = readByteSize(text)
  return value === undefined ? { value: 0, fix: 'use a number and a unit: 200MB, 2GB; or 0 for none' } : { value }
}

function parseSwitch(text: string): Parsed<boolean> {
  return { value: text === 'on', ...(text === 'on' || text === 'off' ? {} : { fix: 'use on or off' }) }
}

function parseRanges(text: string): Parsed<readonly string[]> {
  const value = text
    .split(',')
    .map((range) => range.trim())
    .filter((range) => range !== '')
  return value.every((range) => readIpRange(range))
    ? { value }
    : { value: [], fix: 'use addresses and ranges such as 10.0.0.0/8, with commas between them' }
}

function parseUrl(text: string, example: string): Parsed<string | null> {
  if (text === '') return { value: null }
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === ''
    ? { value: text }
    : { value: null, fix: `use a URL such as ${example}, without a user name or password` }
}

/** Every setting of the process. Its flag is its name here; the help of `serve` is made of this table. */
export const settings = {
  host: {
    variable: 'FILMGATE_HOST',
    fallback: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for every interface',
    parse: (text: string): Parsed<string> => ({
      value: text,
      ...(/^[\w.:-]+$/.test(text) ? {} : { fix: 'use an address such as 127.0.0.1' }),
    }),
  },
  port: {
    variable: 'FILMGATE_PORT',
    fallback: '8484',
    help: 'port to listen on; 0 for any free one',
    parse: parsePort,
  },
  data: {
    variable: 'FILMGATE_DATA',
    fallback: './filmgate-data',
    help: 'folder for the database and the videos',
    parse: (text: string): Parsed<string> => ({ value: text }),
  },
  store: {
    variable: 'FILMGATE_STORE',
    fallback: '',
    help: 'postgres://user:password@host/name, if not the data folder',
    parse: parseStore,
  },
  bucket: {
    variable: 'FILMGATE_BUCKET',
    fallback: '',
    help: 's3://bucket/prefix?endpoint=…, if not the data folder',
    parse: parseBucket,
  },
  content: {
    variable: 'FILMGATE_CONTENT',
    fallback: 'proxy',
    help: 'how videos are delivered: proxy, redirect, accel:/path/',
    parse: parseHandover,
  },
  role: {
    variable: 'FILMGATE_ROLE',
    fallback: 'all',
    help: 'what this process does: api, worker, or all (both)',
    parse: parseRole,
  },
  token: {
    variable: 'FILMGATE_TOKEN',
    fallback: '',
    help: "the client token named 'default', else it is generated",
    parse: (text: string): Parsed<string> => ({ value: text }),
  },
  'operator-token': {
    variable: 'FILMGATE_OPERATOR_TOKEN',
    fallback: '',
    help: "the operator's token, else it is generated",
    parse: (text: string): Parsed<string> => ({ value: text }),
  },
  'secret-key': {
    variable: 'FILMGATE_SECRET_KEY',
    fallback: '',
    help: 'encrypts stored secrets; made by: openssl rand -base64 32',
    parse(text: string): Parsed<readonly SecretKey[]> {
      const value = readSecretKeys(text)
      return value
        ? { value }
        : { value: [], fix: 'use what `openssl rand -base64 32` prints, with commas between several keys' }
    },
  },
  retention: {
    variable: 'FILMGATE_RETENTION',
    fallback: '24h',
    help: 'how long finished videos are kept: 90s, 30m, 24h, 7d',
    parse: parseDurationSetting,
  },
  'usage-retention': {
    variable: 'FILMGATE_USAGE_RETENTION',
    fallback: '400d',
    help: 'how long the usage of ended tasks is kept: 90d, 400d',
    parse: parseDurationSetting,
  },
  'usage-webhook': {
    variable: 'FILMGATE_USAGE_WEBHOOK',
    fallback: '',
    help: 'a URL that receives the usage of ended tasks',
    parse: (text: string): Parsed<string | null> => parseUrl(text, 'https://meter.example/api/v1/events'),
  },
  'usage-webhook-token': {
    variable: 'FILMGATE_USAGE_WEBHOOK_TOKEN',
    fallback: '',
    help: 'the token for that URL, sent as Authorization: Bearer',
    parse: (text: string): Parsed<string | null> => ({
      value: text === '' ? null : text,
      ...(text === '' || isPossibleSecret(text) ? {} : { fix: 'use printable ASCII characters' }),
    }),
  },
  'alarm-webhook': {
    variable: 'FILMGATE_ALARM_WEBHOOK',
    fallback: '',
    help: 'a URL that receives alarms, signed',
    parse: (text: string): Parsed<string | null> => parseUrl(text, 'https://alarms.example/filmgate'),
  },
  'alarm-webhook-secret': {
    variable: 'FILMGATE_ALARM_WEBHOOK_SECRET',
    fallback: '',
    help: 'signs alarms: whsec_ and 32 random bytes in base64',
    parse: (text: string): Parsed<string | null> => ({
      value: text === '' ? null : text,
      ...(text === '' || /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(text)
        ? {}
        : { fix: 'use whsec_ and what `openssl rand -base64 32` prints' }),
    }),
  },
  'alarm-slack': {
    variable: 'FILMGATE_ALARM_SLACK',
    fallback: '',
    help: "the URL of Slack's incoming webhook, for alarms",
    parse: (text: string): Parsed<string | null> => parseUrl(text, 'https://hooks.slack.com/services/…'),
  },
  'alarm-queue-age': {
    variable: 'FILMGATE_ALARM_QUEUE_AGE',
    fallback: '15m',
    help: 'how long a video may be queued before there is an alarm',
    parse: parseDurationSetting,
  },
  'disk-reserve': {
    variable: 'FILMGATE_DISK_RESERVE',
    fallback: '200MB',
    help: 'no video is accepted if the data folder has less space',
    parse: parseByteSize,
  },
  rate: {
    variable: 'FILMGATE_RATE',
    fallback: '6000',
    help: 'videos a token may create per minute; 0 for no limit',
    parse: parseUpTo(mostPerMinute),
  },
  queued: {
    variable: 'FILMGATE_QUEUED',
    fallback: '10000',
    help: 'videos of a project that may wait; 0 for no limit',
    parse: parseUpTo(mostQueuedTasks),
  },
  'stored-bytes': {
    variable: 'FILMGATE_STORED_BYTES',
    fallback: '0',
    help: 'what a project may store, such as 50GB; 0 for no limit',
    parse: parseByteSize,
  },
  'bucket-limit': {
    variable: 'FILMGATE_BUCKET_LIMIT',
    fallback: '0',
    help: 'what all may store, such as 500GB; 0 for no limit',
    parse: parseByteSize,
  },
  alias: {
    variable: 'FILMGATE_ALIASES',
    fallback: '',
    help: 'other names of models: sora-2=studio,sora-2-pro=studio',
    parse(text: string): Parsed<readonly [alias: string, model: string][]> {
      const pairs = text.split(',').filter((pair) => pair.trim() !== '')
      const value = pairs.map((pair): [string, string] => {
        const [alias = '', model = '', ...rest] = pair.split('=').map((part) => part.trim())
        return rest.length > 0 ? ['', ''] : [alias, model]
      })
      return value.every(([alias, model]) => alias !== '' && model !== '')
        ? { value }
        : { value: [], fix: 'write alias=model, with commas between pairs' }
    },
  },
  'unknown-parameters': {
    variable: 'FILMGATE_UNKNOWN_PARAMETERS',
    fallback: 'refuse',
    help: 'unknown parameters of a request: refuse, warn',
    parse: (text: string): Parsed<UnknownParameters> => ({
      value: text === 'warn' ? 'warn' : 'refuse',
      ...(text === 'warn' || text === 'refuse' ? {} : { fix: 'use refuse or warn' }),
    }),
  },
  'cors-origins': {
    variable: 'FILMGATE_CORS_ORIGINS',
    fallback: '',
    help: 'origins of web pages that may call the API',
    parse(text: string): Parsed<readonly string[]> {
      const value = text
        .split(',')
        .map((origin) => origin.trim())
        .filter((origin) => origin !== '')
      const isOrigin = (origin: string) =>
        origin === '*' || (/^https?:[^*]+$/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin)
      return value.every(isOrigin)
        ? { value }
        : { value: [], fix: 'use origins such as https://app.example, with commas between them, or *' }
    },
  },
  'operator-port': {
    variable: 'FILMGATE_OPERATOR_PORT',
    fallback: '',
    help: 'another port for /operator/v1 alone; 0 for any free one',
    parse: (text: string): Parsed<number | null> => (text === '' ? { value: null } : parsePort(text)),
  },
  'trusted-proxies': {
    variable: 'FILMGATE_TRUSTED_PROXIES',
    fallback: '',
    help: 'proxies whose X-Forwarded-For counts: 10.0.0.0/8,::1',
    parse: parseRanges,
  },
  'metrics-allow': {
    variable: 'FILMGATE_METRICS_ALLOW',
    fallback: '',
    help: 'addresses that read /metrics without a token: 10.0.0.0/8',
    parse: parseRanges,
  },
  docs: {
    variable: 'FILMGATE_DOCS',
    fallback: 'on',
    help: '/docs, /openapi.json and /llms.txt: on, off',
    parse: parseSwitch,
  },
  console: {
    variable: 'FILMGATE_CONSOLE',
    fallback: 'on',
    help: "the operator's web page at /: on, off",
    parse: parseSwitch,
  },
  'trace-prompts': {
    variable: 'FILMGATE_TRACE_PROMPTS',
    fallback: 'off',
    help: 'prompts in traces: on, off',
    parse: parseSwitch,
  },
  azure: {
    variable: 'FILMGATE_AZURE',
    fallback: 'off',
    help: "also accept Azure's paths and header: on, off",
    parse: parseSwitch,
  },
  config: {
    variable: 'FILMGATE_CONFIG',
    fallback: '',
    help: 'the path of filmgate.yaml; ./filmgate.yaml if it exists',
    parse: (text: string): Parsed<string> => ({ value: text }),
  },
} as const

export type SettingName = keyof typeof settings
