import type { FastifyRequest } from 'fastify'
import type { Access } from '../../access.ts'
import type { AuditEntry } from '../../core/audit.ts'
import type { Clock, Random } from '../../core/clock.ts'
import { readIpRange } from '../../core/ip-range.ts'
import { amountText, toDecimal, toMicros } from '../../core/money.ts'
import type { PriceSettings } from '../../core/prices.ts'
import { Problem } from '../../core/problem.ts'
import { isTimeZone, type SpendCap, spendPeriods } from '../../core/spend.ts'
import {
  digestSecret,
  generatedNames,
  idOf,
  isTokenId,
  mostCountedTasks,
  newSecret,
  newTokenId,
  ownerOf,
  plainFields,
  type StoredToken,
  type Token,
  type TokenFields,
} from '../../core/token.ts'
import type { NewToken, TaskStore, TokenStore } from '../../stores/store.ts'
import type { Alarms } from '../../telemetry/alarms.ts'
import {
  ChangeToken,
  CreateToken,
  ListTokensQuery,
  OperatorToken,
  OperatorTokenList,
  OperatorTokenWithSecret,
  OperatorTokenWithUse,
  RotateToken,
} from '../../wire/tokens.ts'
import { clientAddressOf } from '../addresses.ts'
import { isAllowedFrom } from '../auth.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type QueryRequest, type Route } from '../route.ts'
import { openSpend, orUnavailable } from '../spend.ts'
import type { StoredBytes } from '../stored-bytes.ts'
import { parseTime, readLimit, refuseForeignCursor } from '../validation.ts'
import { iso, toWirePage } from '../wire.ts'
import { auditOf } from './audit.ts'

export interface TokenDependencies {
  store: TokenStore & Pick<TaskStore, 'countQueued' | 'spent'>
  access: Access
  clock: Clock
  random: Random
  prices?: PriceSettings | null
  alarms?: Alarms
}

const path = { token_id: 'The id of the token.' }
const theToken = { 200: { description: 'The token.', schema: OperatorToken } }
const withSecret = { 200: { description: 'The token with its secret.', schema: OperatorTokenWithSecret } }
const changeErrors = ['invalid_request', 'token_not_found', 'changed_meanwhile', 'storage_unavailable'] as const
const example = { name: 'anna', models: ['studio', 'kling-*'], rate: 30, concurrency: 2 }

/** Tokens are created, changed and revoked while the service runs. A change is in force in every process within a second. */
export function tokenRoutes(dependencies: TokenDependencies, stored: Pick<StoredBytes, 'of'>): Route[] {
  const tokens = openTokens(dependencies, openUse(dependencies, stored))
  return [
    defineRoute({
      at: 'POST /operator/v1/tokens',
      id: 'createToken',
      summary: 'Create a token',
      description: 'Save `secret`: it is shown only here. The token is valid in every process within a second.',
      body: { schema: CreateToken, as: 'json', example },
      responses: withSecret,
      errors: ['invalid_request', 'storage_unavailable', ...bodyFaults],
      handler: tokens.create,
    }),
    defineRoute({
      at: 'GET /operator/v1/tokens',
      id: 'listTokens',
      summary: 'List tokens',
      description: 'Configured tokens first, then the others, the newest first. Revoked ones stay in the list.',
      query: { schema: ListTokensQuery },
      responses: { 200: { description: 'One page.', schema: OperatorTokenList } },
      errors: ['invalid_value', 'unknown_parameter'],
      handler: tokens.list,
    }),
    {
      at: 'GET /operator/v1/tokens/:id',
      id: 'showToken',
      summary: 'Show a token',
      description: 'The token, without its secret, and what its project uses of its limits.',
      path,
      responses: { 200: { description: 'The token and what is used.', schema: OperatorTokenWithUse } },
      errors: ['token_not_found'],
      handler: tokens.show,
    },
    defineRoute({
      at: 'POST /operator/v1/tokens/:id',
      id: 'changeToken',
      summary: 'Change a token',
      description:
        'Omitted fields stay the same, and null restores the default. The change is in force in every process within a second.',
      path,
      body: { schema: ChangeToken, as: 'json', example: { rate: 60, enabled: true } },
      responses: theToken,
      errors: [...changeErrors, ...bodyFaults],
      handler: tokens.change,
    }),
    defineRoute({
      at: 'POST /operator/v1/tokens/:id/rotate',
      id: 'rotateToken',
      summary: 'Replace the secret of a token',
      description:
        'The token keeps its id, its settings and its videos. Its earlier secrets end at once, or after `overlap_seconds`.',
      path,
      body: { schema: RotateToken, as: 'json', isOptional: true, example: { overlap_seconds: 86_400 } },
      responses: withSecret,
      errors: [...changeErrors, 'unknown_parameter', 'invalid_type', 'invalid_value'],
      handler: tokens.rotate,
    }),
    {
      at: 'POST /operator/v1/tokens/:id/revoke',
      id: 'revokeToken',
      summary: 'Revoke a token',
      description:
        'No process accepts it after a second, and it can’t be restored. Its videos stay until they expire; running tasks go on.',
      path,
      responses: theToken,
      errors: changeErrors,
      handler: tokens.revoke,
    },
  ]
}

/** What the project of a client token uses now; null if the store is unavailable, without which the token is known. */
function openUse(dependencies: TokenDependencies, stored: Pick<StoredBytes, 'of'>) {
  const { store } = dependencies
  const spendOf = openSpend(dependencies)
  const read = async (token: Token): Promise<OperatorTokenWithUse['used']> => {
    const owner = ownerOf(token)
    const [queued, bytes, spend] = await Promise.all([
      store.countQueued(owner, mostCountedTasks + 1),
      stored.of(owner),
      spendOf(token),
    ])
    const moreQueued = queued > mostCountedTasks
    return { queued: moreQueued ? mostCountedTasks : queued, more_queued: moreQueued, stored_bytes: bytes, spend }
  }
  return (token: Token) => orUnavailable(read(token))
}

function openTokens({ store, access, clock, random, alarms }: TokenDependencies, useOf: ReturnType<typeof openUse>) {
  const show = (token: Token): OperatorToken => toWireToken(token, access, clock.now())
  const withNewSecret = (id: string) => {
    const secret = newSecret(id, random)
    return { secret, digest: digestSecret(secret) }
  }

  /** Writes what `edit` makes of the token. If it was changed meanwhile, `edit` gets the changed one. */
  async function change(
    request: FastifyRequest,
    action: AuditEntry['action'],
    edit: (token: StoredToken, now: number) => StoredToken,
    /** Whether nothing is left to be changed. */
    isDone: (token: Token, now: number) => boolean = () => false,
  ): Promise<Token> {
    const id = pathParam(request, 'id')
    for (let tries = 0; tries < mostTries; tries += 1) {
      const now = clock.now()
      const known = access.token(id)
      if (known && isDone(known, now)) return known
      const token = changeable(id, access)
      const edited = { ...edit(token, now), changedAt: now }
      refuseTakenName(edited, access)
      const entry = auditOf(request, { at: now, action, target: id, before: show(token), after: show(edited) })
      const written = await store.updateToken(edited, entry)
      access.change({ set: written ? [written] : await store.tokens() })
      if (written) return written
    }
    throw new Problem('changed_meanwhile', `Token '${id}' was changed at the same time. Check it, and try again.`)
  }

  return {
    async create(request: BodyRequest<CreateToken>): Promise<OperatorTokenWithSecret> {
      const { kind = 'client' } = request.body
      const now = clock.now()
      const id = newTokenId(now, random)
      const { secret, digest } = withNewSecret(id)
      const usual = { ...plainFields, models: kind === 'client' ? ['*'] : [] }
      const named = { kind, name: '', ...usual, ...readFields(request.body, { kind, spend: null, now }) }
      const token: NewToken = { ...named, id, digest, older: [], createdAt: now, changedAt: now, revokedAt: null }
      refuseTakenName(token, access)
      const entry = auditOf(request, { at: now, action: 'token.create', target: id, before: null, after: show(token) })
      const written = await store.insertToken(token, entry)
      if (!written) throw takenName(token.name)
      access.change({ set: [written] })
      return { ...show(written), secret }
    },
    async list(request: QueryRequest<ListTokensQuery>) {
      const { after, project } = request.query
      const limit = readLimit(request, ListTokensQuery)
      const isWanted = (token: Token) =>
        project === undefined || (token.kind === 'client' && ownerOf(token) === project)
      const all = access.all().filter(isWanted)
      const rest = after === undefined ? all : all.slice(positionAfter(after, all))
      return toWirePage(rest.slice(0, limit).map(show), { hasMore: rest.length > limit })
    },
    async show(request: FastifyRequest): Promise<OperatorTokenWithUse> {
      const id = pathParam(request, 'id')
      const token = access.token(id)
      if (!token) throw tokenNotFound(id)
      return { ...show(token), used: token.kind === 'client' ? await useOf(token) : null }
    },
    async change(request: BodyRequest<ChangeToken>): Promise<OperatorToken> {
      const changed = await change(request, 'token.change', (token, now) => {
        const edited = { ...token, ...readFields(request.body, { ...token, now }) }
        refuseLockOut(edited, request)
        return edited
      })
      return show(changed)
    },
    async rotate(request: BodyRequest<RotateToken | null>): Promise<OperatorTokenWithSecret> {
      const { overlap_seconds: overlap = 0 } = request.body ?? {}
      const { secret, digest } = withNewSecret(pathParam(request, 'id'))
      const rotated = await change(request, 'token.rotate', (token, now) => {
        const until = now + overlap * 1000
        const earlier = [
          { digest: token.digest, until },
          ...token.older.map((old) => ({ ...old, until: Math.min(old.until, until) })),
        ]
        return { ...token, digest, older: earlier.filter((old) => old.until > now) }
      })
      return { ...show(rotated), secret }
    },
    async revoke(request: FastifyRequest): Promise<OperatorToken> {
      // A repeated request must not change the time, or write a second entry.
      const isRevoked = (token: Token, now: number) => access.statusOf(token, now) === 'revoked'
      const revoke = (token: StoredToken, now: number) => ({ ...token, older: [], revokedAt: now })
      const token = await change(request, 'token.revoke', revoke, isRevoked)
      // Its project has no other token, so nothing is refused for its limits any more.
      if (token.project === null) alarms?.clear('limit_reached', ownerOf(token))
      return show(token)
    },
  }
}

/** An operator who changes their own token can still use it from the same address. */
function refuseLockOut(edited: StoredToken, request: FastifyRequest): void {
  if (edited.id !== idOf(request.token) || isAllowedFrom(edited, request)) return
  const address = clientAddressOf(request)
  throw invalid('ip_ranges', `\`ip_ranges\` of your own token must include the address that you use, ${address}.`)
}

/** Each try fails only if another change was written meanwhile. */
const mostTries = 10

/** A token that this process may change. */
function changeable(id: string, access: Access): StoredToken {
  const token = access.token(id)
  if (!token) throw tokenNotFound(id)
  if (!isStored(token))
    throw new Problem(
      'invalid_request',
      `Token '${id.slice(0, 100)}' is set in filmgate.yaml or by a variable. Change it there, and restart the service.`,
    )
  if (token.revokedAt === null) return token
  throw new Problem('invalid_request', `Token '${id}' was revoked. Create another one.`)
}

function isStored(token: Token): token is StoredToken {
  return token.id !== undefined
}

/** The settings and the name that a request has. */
function readFields(
  body: ChangeToken,
  { kind, spend: caps, now }: Pick<StoredToken, 'kind' | 'spend'> & { now: number },
): Partial<TokenFields & { name: string }> {
  const { name, project, models, rate, concurrency, queued, ip_ranges: ranges, expires_at: expiry } = body
  const { enabled, metadata, role, spend, stored_bytes: storedBytes } = body
  if (role !== undefined && kind === 'client')
    throw invalid('role', "`role` is for operator tokens. Leave it out, or set `kind` to 'operator'.")
  if (kind === 'operator') refuseLimits(body)
  return {
    ...(name !== undefined && { name: readName(name) }),
    ...(project !== undefined && { project: project && readProject(project) }),
    ...(models !== undefined && { models: models.map((glob) => readText(glob, 'models')) }),
    ...(rate !== undefined && { rate }),
    ...(concurrency !== undefined && { concurrency }),
    ...(queued !== undefined && { queued }),
    ...(storedBytes !== undefined && { storedBytes }),
    ...(ranges !== undefined && { ipRanges: ranges === null ? null : ranges.map(readRange) }),
    ...(spend !== undefined && { spend: spend && readCaps(spend, caps ?? []) }),
    ...(expiry !== undefined && { expiresAt: expiry === null ? null : readExpiry(expiry, now) }),
    ...(enabled !== undefined && { enabled }),
    ...(metadata !== undefined && { metadata: metadata && readMetadata(metadata) }),
    ...(role !== undefined && { role }),
  }
}

const limits = ['project', 'models', 'rate', 'concurrency', 'queued', 'stored_bytes', 'spend'] as const

/** They would look as if they protected something. Null, and no models, are what an operator token has. */
function refuseLimits(body: ChangeToken): void {
  for (const name of limits) {
    const value = body[name] ?? null
    if (value !== null && !(Array.isArray(value) && value.length === 0))
      throw invalid(name, `\`${name}\` is for client tokens: an operator token creates no videos. Leave it out.`)
  }
}

function readName(name: string): string {
  if (Object.values(generatedNames).includes(name))
    throw invalid('name', `\`name\` is '${name}', which is reserved for the token of that name in the configuration.`)
  return readText(name, 'name')
}

/** The id of a token is the owner of its videos: a project of that name would have them, too. */
function readProject(project: string): string {
  if (project.startsWith('tok_'))
    throw invalid('project', `\`project\` begins with 'tok_', as ids of tokens do. Choose another name.`)
  return readText(project, 'project')
}

function readText(value: string, param: string): string {
  if (value.isWellFormed() && !/\p{Cc}/u.test(value) && value.trim() === value) return value
  throw invalid(param, `\`${param}\` has control characters, half a surrogate pair, or spaces at an end. Remove them.`)
}

function readRange(range: string): string {
  if (readIpRange(range)) return range
  const message = `\`ip_ranges\` has '${range.toWellFormed()}'. Use addresses and ranges, such as 203.0.113.7 or 10.0.0.0/8.`
  throw invalid('ip_ranges', message)
}

/** An omitted period keeps its cap, and null removes it. An omitted time zone is kept as well. */
function readCaps(spend: NonNullable<ChangeToken['spend']>, before: readonly SpendCap[]): readonly SpendCap[] | null {
  const caps = spendPeriods.flatMap((period) => {
    const cap = spend[period]
    const old = before.filter((one) => one.period === period)
    if (cap === undefined) return old
    if (cap === null) return []
    const { limit, time_zone: zone = old[0]?.zone ?? 'UTC' } = cap
    if (!isTimeZone(zone))
      throw invalid(
        'spend',
        `\`spend.${period}.time_zone\` is '${zone}'. There is no such time zone. Use UTC or Europe/Berlin.`,
      )
    const micros = toMicros(toDecimal(limit))
    if (micros === undefined) throw invalid('spend', `\`spend.${period}.limit\` is too large. Use a smaller one.`)
    return [{ period, limit: micros, zone }]
  })
  return caps.length === 0 ? null : caps
}

function toWireCaps(caps: readonly SpendCap[]): OperatorToken['spend'] {
  return Object.fromEntries(
    caps.map(({ period, limit, zone }) => [period, { limit: amountText(limit), time_zone: zone }]),
  )
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

function readExpiry(text: string, now: number): number {
  const time = isoTime.test(text) ? parseTime(text) : Number.NaN
  if (Number.isNaN(time))
    throw invalid('expires_at', '`expires_at` is not a time with a time zone. Use a text such as 2027-01-31T00:00:00Z.')
  if (time > now) return time
  throw invalid('expires_at', '`expires_at` is in the past. Use a later time, or revoke the token.')
}

function readMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const names = Object.keys(metadata)
  if (names.length > 16) throw invalid('metadata', '`metadata` has more than 16 names. Use fewer.')
  if (names.some((name) => name === '' || name.length > 64))
    throw invalid('metadata', '`metadata` has an empty name, or one of more than 64 characters. Shorten it.')
  for (const text of [...names, ...Object.values(metadata)])
    if (!text.isWellFormed() || text.includes('\0'))
      throw invalid('metadata', '`metadata` has a NUL character, or half a surrogate pair. Remove it.')
  return metadata
}

function invalid(param: string, message: string): Problem {
  return new Problem('invalid_value', message, { param })
}

/** Names are unique among tokens that are not revoked. */
function refuseTakenName(token: NewToken, access: Access): void {
  const isTaken = (other: Token) =>
    other.name === token.name && idOf(other) !== token.id && (other.revokedAt ?? null) === null
  if (token.revokedAt === null && access.all().some(isTaken)) throw takenName(token.name)
}

function takenName(name: string): Problem {
  return invalid('name', `\`name\` is '${name.slice(0, 50)}'. Another token has this name. Choose another one.`)
}

function tokenNotFound(id: string): Problem {
  return new Problem('token_not_found', `Token '${id.slice(0, 100)}' not found.`)
}

/** Where the page after this id begins. The token of the id need not exist. */
function positionAfter(after: string, all: readonly Token[]): number {
  const at = all.findIndex((token) => idOf(token) === after)
  if (at >= 0) return at + 1
  refuseForeignCursor(after, { isId: isTokenId, of: 'a token' })
  const next = all.findIndex(({ id }) => id !== undefined && id < after)
  return next < 0 ? all.length : next
}

function toWireToken(token: Token, access: Access, now: number): OperatorToken {
  const { kind, name, models, role = null, enabled = true, project = null, rate = null, concurrency = null } = token
  const { queued = null, ipRanges = null, spend = null, expiresAt = null, metadata = null } = token
  const { storedBytes = null, revokedAt = null, older = [] } = token
  const times = isStored(token) ? token : { createdAt: null, changedAt: null }
  const untils = older.map(({ until }) => until).filter((until) => until > now)
  return {
    id: idOf(token),
    object: 'operator.token',
    kind,
    role: kind === 'operator' ? (role ?? 'admin') : null,
    name,
    project,
    owner: ownerOf(token),
    status: access.statusOf(token, now),
    source: isStored(token) ? 'store' : 'config',
    models,
    rate,
    concurrency,
    queued,
    stored_bytes: storedBytes,
    ip_ranges: ipRanges,
    spend: spend && toWireCaps(spend),
    expires_at: iso(expiresAt),
    enabled,
    metadata,
    created_at: iso(times.createdAt),
    changed_at: iso(times.changedAt),
    revoked_at: iso(revokedAt),
    old_secret_until: untils.length === 0 ? null : iso(Math.max(...untils)),
  }
}
