import type { OperatorTask } from '../../src/wire/operator.ts'

/* What the entries of a video in the ledger say: what its client pays, and what its provider charged. */

type Entry = OperatorTask['entries'][number]

export interface VideoMoney {
  currency: string
  /** What is reserved, while the video is unfinished. Null after that. */
  reserved: number | null
  paid: number
  /** Null if no cost is recorded. */
  charged: number | null
}

/** Null if nothing was posted. */
export function moneyOf(entries: readonly Entry[]): VideoMoney | null {
  const [first] = entries
  if (!first) return null
  const isClosed = entries.some(({ step }) => step === 'close')
  const charged = entries.filter(({ account }) => kindOf(account) === 'cost')
  return {
    currency: first.currency,
    reserved: isClosed ? null : sumOf(entries.filter(({ account }) => kindOf(account) === 'reserved')),
    paid: sumOf(entries.filter(({ account }) => kindOf(account) === 'revenue')),
    charged: charged.length > 0 ? sumOf(charged) : null,
  }
}

/** Amounts have up to 6 digits after the point. Sums of them are not exact otherwise. */
function sumOf(entries: readonly Entry[]): number {
  return entries.reduce((all, { amount }) => all + Math.round(amount * 1e6), 0) / 1e6
}

const kinds = ['funds', 'reserved', 'revenue', 'cost', 'providers'] as const
type Kind = (typeof kinds)[number]

function kindOf(account: string): Kind | undefined {
  return kinds.find((kind) => account.startsWith(`${kind} `))
}

/** An account of the ledger: its kind, and the name of the client or of the provider account that it is of. */
export function readLedgerAccount(account: string): { kind: Kind; name: string } | null {
  const kind = kindOf(account)
  return kind ? { kind, name: account.slice(kind.length + 1) } : null
}

const steps = ['reserve', 'close', 'cost'] as const

/** A step of the ledger; with the attempt that it is of, if it is a cost. */
export function readLedgerStep(step: string): { kind: (typeof steps)[number]; attempt: string | null } | null {
  const [word, attempt = null] = step.split(' ')
  const kind = steps.find((one) => one === word)
  return kind ? { kind, attempt } : null
}
