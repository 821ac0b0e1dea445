/** How each part reports to the operator. `main.ts` opens it and passes it to each part, like the clock. */
export interface Telemetry {
  readonly log: Log
  /** Replaces every secret in a piece of JSON. */
  readonly redact: (json: string) => string
}

/** JSON lines for the operator, with every secret replaced. */
export interface Log {
  info(event: string, fields?: Record<string, unknown>): void
  warn(event: string, fields?: Record<string, unknown>): void
  error(event: string, fields?: Record<string, unknown>): void
}

interface TelemetryOptions {
  write: (line: string) => void
  now: () => number
  secrets: readonly string[]
}

/** A token that was created while the service runs: only its digest is known. Its id stays. */
const tokenSecret = /(fg_[0-9a-z]{12}_)[0-9A-Za-z]{28}/g

function openRedactor(secrets: readonly string[]) {
  const hidden = new Set<string>()
  const hide = (more: readonly string[]): void => {
    // A secret of a few letters would match ordinary words.
    for (const secret of more) if (secret.length >= 8) hidden.add(JSON.stringify(secret).slice(1, -1))
  }
  hide(secrets)
  const redact = (json: string): string =>
    [...hidden]
      .reduce((safe, secret) => safe.replaceAll(secret, '[redacted]'), json)
      .replace(tokenSecret, '$1[redacted]')
  return { hide, redact }
}

/** `hide`: adds secrets that the service learns while it runs. */
export function openTelemetry({
  write,
  now,
  secrets,
}: TelemetryOptions): Telemetry & { hide: (secrets: readonly string[]) => void } {
  const { hide, redact } = openRedactor(secrets)
  const line =
    (level: string) =>
    (event: string, fields: Record<string, unknown> = {}) => {
      const text = JSON.stringify({ time: new Date(now()).toISOString(), level, event, ...fields }, readable)
      write(`${redact(text)}\n`)
    }
  return { log: { info: line('info'), warn: line('warn'), error: line('error') }, redact, hide }
}

/** `JSON.stringify` skips the fields of an Error. The operator needs them, and the whole chain of causes. */
function readable(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause, code } = value as Error & { code?: unknown }
  return {
    name,
    ...(code === undefined ? {} : { code }),
    message,
    stack: stack
      ?.split('\n')
      .slice(1, 6)
      .map((text) => text.trim()),
    ...(cause === undefined ? {} : { cause }),
  }
}
