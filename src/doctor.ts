import type { AccountConfig } from './config/accounts.ts'
import type { Config } from './config.ts'
import { Problem } from './core/problem.ts'
import { type Outbound, openOutbound } from './outbound.ts'
import { type Member, providers } from './providers/index.ts'

/** What is the matter with one account, if anything is. */
export interface Finding {
  account: string
  provider: string
  /** How many models go through it. Those of an engine are only known by a service that runs. */
  models: number
  state: 'usable' | 'unusable' | 'unclear'
  /** What was seen, and what to do about it. */
  seen: string
  fix: string | null
}

interface Surroundings {
  now: () => number
  signal: AbortSignal
}

/** Asks each account one question that costs nothing. */
export async function examine(config: Config, { now, signal }: Surroundings): Promise<Finding[]> {
  await using outbound = openOutbound({ allow: [...config.outboundAllow] })
  const around = { outbound, now, signal }
  return await Promise.all(
    config.accounts.map(async (account) => {
      const all = [...config.catalog.entries.values()].filter(({ name, card }) => name === card.id)
      const models = all.filter(({ card }) => card.routes.some((route) => route.account === account.name)).length
      return { account: account.name, provider: account.provider, models, ...(await ask(account, around)) }
    }),
  )
}

type Seen = Pick<Finding, 'state' | 'seen' | 'fix'>

async function ask(
  account: AccountConfig,
  { outbound, now, signal }: Surroundings & { outbound: Outbound },
): Promise<Seen> {
  const members: Readonly<Record<string, Member>> = providers
  const member = members[account.provider]
  if (!member || account.baseUrl === null) return { state: 'usable', seen: 'it needs nothing', fix: null }
  const provider = await member.create({ folder: '', media: undefined as never })
  const call = { ...outbound.upstream(account.baseUrl), signal, attemptId: '', credential: account.credential, now }
  try {
    const { status } = (await provider.check?.(call)) ?? { status: 0 }
    return byStatus(status, account, member)
  } catch (thrown) {
    const { code, cause } = Problem.from(thrown)
    if (code === 'generation_failed' && cause instanceof Error)
      return { state: 'unusable', seen: 'it takes no videos', fix: cause.message }
    const seen = 'no answer: it is not there, or speaks otherwise'
    return { state: 'unclear', seen, fix: `check ${place(account)} and the way there` }
  }
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
