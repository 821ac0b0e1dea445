import { join } from 'node:path'
import type { AccountConfig } from './config/accounts.ts'
import type { Config } from './config.ts'
import { isLocalName, keyVersionOf, localName, toKeyView } from './core/account.ts'
import type { ModelCard } from './core/catalog.ts'
import { type Health, healthy } from './core/health.ts'
import type { Media } from './media/media.ts'
import { type Outbound, readBase, type Upstream } from './outbound.ts'
import type { Member } from './providers/index.ts'
import type { Account } from './workers/worker.ts'

/** Accounts to add or to replace, and the names of accounts to remove. */
interface AccountChange {
  set?: readonly AccountConfig[]
  remove?: readonly string[]
}

/**
 * The provider accounts that are configured now. Both maps are live: every part of the service looks an account up when it
 * needs one and keeps no copy, so that a change takes effect at once. `change` is the only way to change them.
 */
export interface AccountRegistry {
  readonly all: ReadonlyMap<string, Account>
  /** The accounts that the API shows. */
  readonly shown: ReadonlyMap<string, Account>
  change(change: AccountChange): Promise<void>
  /** Calls the listener after each change, before `change` resolves. */
  onChange(listener: () => void): void
}

export interface AccountOptions {
  members: Readonly<Record<string, Member>>
  /** Each account may have a folder of its own in this one. */
  folder: string
  media: Media
  outbound: Outbound
  /** Measures the requests of an account, if there are metrics. */
  measure?: (account: string, upstream: Upstream) => Upstream
  /** False in a process that only serves the API: its own accounts never run a task. */
  showsLocal: boolean
}

/**
 * The health of an address and key. All versions of an account with the same ones share it: a request that was sent before a
 * change of other settings may get a response that pauses the account.
 */
interface KeyHealth {
  readonly keyVersion: string
  health: Health
}

export function openAccounts(options: AccountOptions): AccountRegistry {
  const { members, folder, media, outbound, showsLocal, measure } = options
  const all = new Map<string, Account>()
  const shown = new Map<string, Account>()
  const listeners: (() => void)[] = []
  const healths = new Map<string, KeyHealth>()

  const open = async ({ name, provider, baseUrl, credential, ...rest }: AccountConfig) => {
    const member = members[provider]
    if (!member) throw new Error(`there is no provider '${provider}'`)
    const keyVersion = keyVersionOf(`${provider} ${baseUrl && readBase(baseUrl).below('/').url.href}`, credential ?? '')
    const before = healths.get(name)
    // A pause belongs to an address and a key, so it ends when one of them changes.
    const kept = before?.keyVersion === keyVersion ? before : { keyVersion, health: healthy }
    const upstream = baseUrl === null ? null : outbound.upstream(baseUrl)
    const account: Account = {
      ...rest,
      name,
      baseUrl,
      credential,
      key: toKeyView(credential),
      keyVersion,
      spareSlots: member.spareSlots ?? 0,
      get health() {
        return kept.health
      },
      set health(health) {
        kept.health = health
      },
      provider: await member.create({ folder: join(folder, name), media }),
      upstream: upstream && measure ? measure(name, upstream) : upstream,
    }
    return { account, kept }
  }

  return {
    all,
    shown,
    async change({ set = [], remove = [] }) {
      const opened = await Promise.all(set.map(open))
      for (const map of [all, shown, healths]) for (const name of remove) map.delete(name)
      for (const { account, kept } of opened) {
        healths.set(account.name, kept)
        all.set(account.name, account)
        if (showsLocal || !isLocalName(account.name)) shown.set(account.name, account)
      }
      for (const listener of listeners) listener()
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

/** Gives the accounts that run in this process names of their own, for a store that several processes share. */
export function localise<Parts extends Pick<Config, 'accounts' | 'catalog'>>(
  config: Parts,
  members: Readonly<Record<string, Member>>,
  process: string,
): Parts {
  const own = config.accounts.filter(({ provider }) => members[provider]?.needsNothing).map(({ name }) => name)
  const rename = (name: string) => (own.includes(name) ? localName(name, process) : name)
  const entries = [...config.catalog.entries.values()]
  // Aliases share one card.
  const cards = new Map(entries.map(({ card }) => [card, withRoutes(card, rename)]))
  return {
    ...config,
    accounts: config.accounts.map((account) => ({ ...account, name: rename(account.name) })),
    catalog: {
      ...config.catalog,
      entries: new Map(entries.map((entry) => [entry.name, { ...entry, card: cards.get(entry.card) ?? entry.card }])),
    },
  }
}

function withRoutes(card: ModelCard, rename: (account: string) => string): ModelCard {
  return { ...card, routes: card.routes.map((route) => ({ ...route, account: rename(route.account) })) }
}
