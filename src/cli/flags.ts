/* Errors of the server name fields of the API. The person at the command line typed options. */

const words: Readonly<Record<string, string>> = {
  base_url: '--address',
  created_before: '--before',
  created_since: '--since',
  error_code: '--error',
  event_types: '--events',
  expires_at: '--expires',
  group_by: '--by',
  image: '--image',
  input_reference: '--image',
  key: '--key-file',
  kind: '--operator',
  name: 'the name',
  operation: 'the operation',
  overlap_seconds: '--overlap',
  prompt: 'the prompt',
  role: '--operator',
  spend: '--budget',
  stored_bytes: '--stored',
  token: '--token-id',
  url: 'the URL',
}

/** Fields whose option has the same name, but for dashes. */
const same = [
  ...[
    'concurrency',
    'ip_ranges',
    'metadata',
    'models',
    'on_unknown',
    'project',
    'provider',
    'queued',
    'rate',
    'verify',
  ],
  ...['account', 'before', 'limit', 'model', 'owner', 'since', 'state', 'status'],
  ...['seconds', 'seed', 'size'],
]

/** What the person typed for a field such as `spend.day.limit`; null if no option sets it. */
export function flagOf(field: string): string | null {
  const [name = ''] = field.split('.')
  if (Object.hasOwn(words, name)) return words[name] ?? null
  return same.includes(name) ? `--${name.replaceAll('_', '-')}` : null
}

/** The message of a server, with options in place of the fields that it names. */
export function inFlags(message: string): string {
  return inSettings(message)
    .replaceAll(/`([a-z_]+(?:\.[\w.]+)?)`/g, (quoted, field: string) => flagOf(field) ?? quoted)
    .replaceAll(
      /(?<=parameter: )'([a-z_.]+)'|'((?:image|input_reference)[a-z_.]*)'/g,
      (quoted, one, other) => flagOf(one ?? other) ?? quoted,
    )
    .replace(/\bor null\b/, 'or none')
}

/** Declarations are checked in the words of filmgate.yaml: `accounts.main.key: it is missing; …`. */
function inSettings(message: string): string {
  const [whole = '', kind = '', place = ''] = /^(accounts|models|aliases)[.[](.*?)\]?: /.exec(message) ?? []
  const [, field = ''] = /\.([a-z_]+)$/.exec(place) ?? []
  const rest = message.slice(whole.length)
  // Other settings of a model are those of a file, which has these words.
  if (kind === 'models') return ['account', 'model'].includes(field) ? `--${field}: ${rest}` : message
  if (kind === 'accounts' && flagOf(field)) return `${flagOf(field)}: ${rest}`
  return whole === ''
    ? message
    : `the ${kind === 'aliases' ? 'alias' : 'account'} '${place.replaceAll('"', '')}': ${rest}`
}
