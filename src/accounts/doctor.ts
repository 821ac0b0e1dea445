import type { AccountConfig } from '../config/accounts.ts'
import type { Config } from '../config.ts'
import { codeOf, Problem } from '../core/problem.ts'
import { type Outbound, openOutbound } from '../outbound.ts'
import { type Member, providers, type Setting } from '../providers/index.ts'

export interface Diagnosis {
  state: 'usable' | 'unusable' | 'unclear'
  /** What was seen, and what to do about it. */
  seen: string
  fix: string | null
}

/** Whether an account can be used. */
export interface Finding extends Diagnosis {
  account: string
  provider: string
  /** How many models have a route through it. Discovered models are not counted: only a running service knows them. */
  models: number
}

/** Whether an account has the model of a route. */
export interface RouteFinding extends Diagnosis {
  model: string
  account: string
  upstream_model: string
}

interface Findings {
  accounts: Finding[]
  routes: RouteFinding[]
}

interface ExamineOptions {
  now: () => number
  signal: AbortSignal
}

/** Sends each account one free request, lists the models of engines, and then checks each route. */
export async function examine(config: Config, { now, signal }: ExamineOptions): Promise<Findings> {
  await using outbound = openOutbound({ allow: [...config.outboundAllow] })
  const cards = [...config.catalog.entries.values()]
    .filter(({ name, card }) => name === card.id)
    .map(({ card }) => card)
  const diagnoses = new Map<string, AccountDiagnosis>()
  const accounts = await Promise.all(
    config.accounts.map(async (account): Promise<Finding> => {
      const { name, provider } = account
      const models = cards.filter(({ routes }) => routes.some((route) => route.account === name)).length
      const diagnosis = await diagnose(account, { outbound, now, signal })
      diagnoses.set(name, diagnosis)
      const { state, seen, fix } = diagnosis
      return { account: name, provider, models, state, seen, fix }
    }),
  )
  const routes = cards.flatMap(({ id, routes }) =>
    routes.map(({ account, upstreamModel }): RouteFinding => {
      const diagnosis = diagnoseRoute(id, upstreamModel, diagnoses.get(account))
      return { model: id, account, upstream_model: upstreamModel, ...diagnosis }
    }),
  )
  return { accounts, routes }
}

interface AccountDiagnosis extends Diagnosis {
  /** The models of our cards, by the provider's names. */
  known: readonly string[]
  /** The models that the account lists; null if it can't. */
  listed: readonly string[] | null
}

const mostNamed = 10

/** The configuration already refuses names that a provider can't have. Only an engine itself knows its models. */
function diagnoseRoute(model: string, upstreamModel: string, account: AccountDiagnosis | undefined): Diagnosis {
  if (!account) return { state: 'unusable', seen: 'its account is not configured', fix: null }
  const { state, seen, known, listed } = account
  // The fix is shown with the account.
  if (state !== 'usable') return { state, seen: `its account: ${seen}`, fix: null }
  if (known.includes(upstreamModel) || listed?.includes(upstreamModel))
    return { state, seen: 'the account has this model', fix: null }
  if (listed === null) return { state, seen: 'the model name is passed on unchecked', fix: null }
  const names = listed.slice(0, mostNamed).join(', ') + (listed.length > mostNamed ? ', …' : '')
  const fix = `check the name in models.${model} of filmgate.yaml; the account lists ${names || 'no models'}`
  return { state: 'unclear', seen: `the account does not list '${upstreamModel}'`, fix }
}

const unused = () => Promise.reject(new Error('the doctor generates no videos'))
/** Only accounts with an address are diagnosed, and their providers don't touch media. */
const noMedia: Setting['media'] = {
  render: unused,
  verify: unused,
  check: unused,
  inspect: unused,
  still: unused,
  [Symbol.asyncDispose]: async () => {},
}

interface DiagnoseOptions extends ExamineOptions {
  outbound: Pick<Outbound, 'upstream'>
  /** The default is all providers. */
  members?: Readonly<Record<string, Member>>
}

/** Sends an account one free request, and lists its models if it can. */
export async function diagnose(
  account: AccountConfig,
  { outbound, now, signal, members = providers }: DiagnoseOptions,
): Promise<AccountDiagnosis> {
  const member = members[account.provider]
  const known = member?.cards.map(({ upstreamModel }) => upstreamModel) ?? []
  if (!member || account.baseUrl === null)
    return { state: 'usable', seen: 'it needs no key', fix: null, known, listed: null }
  const provider = await member.create({ folder: '', media: noMedia })
  const call = { ...outbound.upstream(account.baseUrl), signal, attemptId: '', credential: account.credential, now }
  try {
    const { status } = (await provider.check?.(call)) ?? { status: 0 }
    const diagnosis = byStatus(status, account, member)
    const cards = diagnosis.state === 'usable' ? await provider.discover?.(call).catch(() => undefined) : undefined
    return { ...diagnosis, known, listed: cards?.map(({ upstreamModel }) => upstreamModel) ?? null }
  } catch (thrown) {
    return { ...byProblem(Problem.from(thrown), account), known, listed: null }
  }
}

function byProblem({ code, cause }: Problem, { baseUrl }: AccountConfig): Diagnosis {
  if (code === 'generation_failed' && cause instanceof Error)
    return { state: 'unusable', seen: 'it generates no videos', fix: cause.message }
  // If several addresses of a host failed, the error has only a code.
  const reason = cause instanceof Error ? cause.message || codeOf(cause) : undefined
  const seen = `no usable response${reason ? ` (${reason})` : ''}`
  return { state: 'unclear', seen, fix: `check its address ${baseUrl} and the network` }
}

function byStatus(status: number, { name, credential, baseUrl, source }: AccountConfig, { key }: Member): Diagnosis {
  const variable = key ? ` or ${key.variable}` : ''
  const place = source === 'store' ? `of the account '${name}'` : `in filmgate.yaml${variable}`
  const fine = credential === null ? 'it responds' : 'it accepts our key'
  if (status >= 200 && status < 300) return { state: 'usable', seen: fine, fix: null }
  if (status === 401 || status === 403) {
    const seen = credential === null ? `it requires a key (${status})` : `it refuses our key (${status})`
    return { state: 'unusable', seen, fix: `check the key ${place}` }
  }
  if (status === 402) return { state: 'unusable', seen: 'it requires payment (402)', fix: 'add credit to the account' }
  if (status === 404 || status === 405)
    return { state: 'unusable', seen: `its API was not found (${status})`, fix: `check its address ${baseUrl}` }
  if (status === 429) return { state: 'usable', seen: 'it asks us to slow down (429)', fix: 'wait a little' }
  return { state: 'unclear', seen: `it responds with ${status}`, fix: 'try again later; its status page may say more' }
}
