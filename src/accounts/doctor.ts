import type { AccountConfig } from '../config/accounts.ts'
import type { Config } from '../config.ts'
import { Problem } from '../core/problem.ts'
import { type Outbound, openOutbound } from '../outbound.ts'
import { type Member, providers } from '../providers/index.ts'

interface Seen {
  state: 'usable' | 'unusable' | 'unclear'
  /** What was seen, and what to do about it. */
  seen: string
  fix: string | null
}

/** What is the matter with one account, if anything is. */
export interface Finding extends Seen {
  account: string
  provider: string
  /** How many models go through it. Those of an engine are only known by a service that runs. */
  models: number
}

/** Whether an account and what a model is called there go together. */
export interface RouteFinding extends Seen {
  model: string
  account: string
  upstream_model: string
}

interface Findings {
  accounts: Finding[]
  routes: RouteFinding[]
}

interface Surroundings {
  now: () => number
  signal: AbortSignal
}

/** Asks each account one question that costs nothing, and an engine for its models; then looks at each route. */
export async function examine(config: Config, { now, signal }: Surroundings): Promise<Findings> {
  await using outbound = openOutbound({ allow: [...config.outboundAllow] })
  const around = { outbound, now, signal }
  const cards = [...config.catalog.entries.values()]
    .filter(({ name, card }) => name === card.id)
    .map(({ card }) => card)
  const answers = new Map<string, Answer>()
  const accounts = await Promise.all(
    config.accounts.map(async (account): Promise<Finding> => {
      const { name, provider } = account
      const models = cards.filter(({ routes }) => routes.some((route) => route.account === name)).length
      const answer = await ask(account, around)
      answers.set(name, answer)
      const { state, seen, fix } = answer
      return { account: name, provider, models, state, seen, fix }
    }),
  )
  const routes = cards.flatMap(({ id, routes }) =>
    routes.map(({ account, upstreamModel }): RouteFinding => {
      const seen = seeRoute(id, upstreamModel, answers.get(account))
      return { model: id, account, upstream_model: upstreamModel, ...seen }
    }),
  )
  return { accounts, routes }
}

interface Answer extends Seen {
  /** What our cards call its models. */
  listed: readonly string[]
  /** What it says that it calls them, where it can be asked. */
  told: readonly string[] | null
}

const mostNamed = 10

/** A name that a provider can't have is a mistake of the configuration already. What an engine has, only it knows. */
function seeRoute(model: string, upstreamModel: string, answer: Answer | undefined): Seen {
  if (!answer) return { state: 'unusable', seen: 'its account is not there', fix: null }
  const { state, seen, listed, told } = answer
  // What to do is said of the account.
  if (state !== 'usable') return { state, seen: `its account: ${seen}`, fix: null }
  if (listed.includes(upstreamModel) || told?.includes(upstreamModel))
    return { state, seen: 'it has this model', fix: null }
  if (told === null) return { state, seen: 'a name that we do not know is passed on', fix: null }
  const names = told.slice(0, mostNamed).join(', ') + (told.length > mostNamed ? ', …' : '')
  const fix = `check what models.${model} of filmgate.yaml names; it tells of ${names || 'no models'}`
  return { state: 'unclear', seen: `it does not tell of '${upstreamModel}'`, fix }
}

async function ask(
  account: AccountConfig,
  { outbound, now, signal }: Surroundings & { outbound: Outbound },
): Promise<Answer> {
  const members: Readonly<Record<string, Member>> = providers
  const member = members[account.provider]
  const listed = member?.cards.map(({ upstreamModel }) => upstreamModel) ?? []
  if (!member || account.baseUrl === null)
    return { state: 'usable', seen: 'it needs nothing', fix: null, listed, told: null }
  const provider = await member.create({ folder: '', media: undefined as never })
  const call = { ...outbound.upstream(account.baseUrl), signal, attemptId: '', credential: account.credential, now }
  try {
    const { status } = (await provider.check?.(call)) ?? { status: 0 }
    const seen = byStatus(status, account, member)
    const cards = seen.state === 'usable' ? await provider.discover?.(call).catch(() => undefined) : undefined
    return { ...seen, listed, told: cards?.map(({ upstreamModel }) => upstreamModel) ?? null }
  } catch (thrown) {
    return { ...byFault(Problem.from(thrown), account), listed, told: null }
  }
}

function byFault({ code, cause }: Problem, account: AccountConfig): Seen {
  if (code === 'generation_failed' && cause instanceof Error)
    return { state: 'unusable', seen: 'it takes no videos', fix: cause.message }
  const seen = 'no answer: it is not there, or speaks otherwise'
  return { state: 'unclear', seen, fix: `check ${place(account)} and the way there` }
}

function byStatus(status: number, account: AccountConfig, { key }: Member): Seen {
  const variable = key ? ` or ${key.variable}` : ''
  const fine = account.credential === null ? 'it answers' : 'it takes our key'
  if (status >= 200 && status < 300) return { state: 'usable', seen: fine, fix: null }
  if (status === 401 || status === 403) {
    const seen = account.credential === null ? `it wants a key (${status})` : `it refuses our key (${status})`
    return { state: 'unusable', seen, fix: `check the key in filmgate.yaml${variable}` }
  }
  if (status === 402) return { state: 'unusable', seen: 'it wants to be paid (402)', fix: 'add credit there' }
  if (status === 404 || status === 405)
    return { state: 'unusable', seen: `nothing of it is there (${status})`, fix: `check ${place(account)}` }
  if (status === 429) return { state: 'usable', seen: 'it asks us to slow down (429)', fix: 'wait a little' }
  return { state: 'unclear', seen: `it answers ${status}`, fix: 'try again later; its status page may say more' }
}

function place({ baseUrl }: AccountConfig): string {
  return `its address ${baseUrl}`
}
